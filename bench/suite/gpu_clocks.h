// What NVML says of a GPU: the driver's version, and how fast its clocks run now.
#pragma once

#include <string>

namespace sinter::suite {

struct Clocks {
  unsigned sm_mhz = 0;  ///< 0: not known
  unsigned memory_mhz = 0;
};

class Nvml {
 public:
  /// Of the GPU with this number. Everything is unknown where there is no NVML.
  explicit Nvml(int ordinal);

  Clocks clocks() const;
  std::string driver_version() const;

 private:
  void* library_ = nullptr;  ///< stays open: without nvmlShutdown its threads may still run
  void* device_ = nullptr;
};

}  // namespace sinter::suite
