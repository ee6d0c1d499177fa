// The driver version and the current clocks of a GPU, from NVML.
#pragma once

#include <string>

namespace sinter::suite {

struct Clocks {
  unsigned sm_mhz = 0;  ///< 0 if unknown
  unsigned memory_mhz = 0;
};

class Nvml {
 public:
  /// Opens the GPU with this ordinal. Without NVML all values are unknown.
  explicit Nvml(int ordinal);

  Clocks clocks() const;
  std::string driver_version() const;

 private:
  void* library_ = nullptr;  ///< never closed, because NVML's threads may still run
  void* device_ = nullptr;
};

}  // namespace sinter::suite
