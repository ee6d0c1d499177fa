// A kernel that a benchmark wrote by hand, compiled and launched as sinter does with its own.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/text/source.h"
#include "runtime/cache/kernel_cache.h"
#include "sinter/sinter.h"

namespace sinter::measured {

class DeviceKernel {
 public:
  /// Compiles `source` with the prelude, and loads it. Throws CompileError and DriverError.
  DeviceKernel(const Device& device, Source source);

  /// Launches `grid` blocks. The arguments must have exactly the types of the kernel's parameters.
  template <class... Arguments>
  void launch(const Stream& stream, std::int64_t grid, Arguments... arguments) const {
    void* parameters[] = {&arguments..., nullptr};
    launch_with(stream, grid, parameters);
  }

  /// Blocks that the device holds at once.
  std::int64_t resident_blocks() const;
  /// Bytes of the loads that a thread has in flight, by the machine code; 0 if there is none.
  std::int64_t bytes_in_flight() const;

 private:
  void launch_with(const Stream& stream, std::int64_t grid, void** parameters) const;

  Device device_;
  Source source_;
  CompiledUnitPointer unit_;
};

}  // namespace sinter::measured
