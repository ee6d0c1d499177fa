// Faults: calls and work that fail on request, and the number of calls of each entry point.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/driver/configuration.h"
#include "tests/virtual_gpu/driver/result.h"

namespace sinter::virtual_gpu::driver {

/// Names of work that can fail while the device executes it, beside the entry points.
inline constexpr std::string_view kKernelFault = "kernel";
inline constexpr std::string_view kCopyFault = "copy";

/// Needs the lock of the machine.
class Faults {
 public:
  explicit Faults(std::vector<Fault> faults) : faults_(std::move(faults)) {}

  /// Counts a call of the function. Returns the code of its fault; success if there is none.
  CUresult count(std::string_view function);
  /// Forgets all faults, and counts calls from 0.
  void clear();
  void add(Fault fault) { faults_.push_back(std::move(fault)); }
  int calls(std::string_view function) const;

 private:
  std::vector<Fault> faults_;
  std::map<std::string, int, std::less<>> calls_;
};

/// True for an error after which "the process must be terminated and relaunched": CUresult in the
/// documentation of the driver API.
bool ends_context(CUresult code);

}  // namespace sinter::virtual_gpu::driver
