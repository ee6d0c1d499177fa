// Reads the resources of each compiled kernel: registers, stack, spills, shared memory, code size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/compile/machine_code.h"

namespace sinter {

struct KernelResources {
  std::string entry;
  int registers = 0;             // per thread
  std::int64_t stack_bytes = 0;  // per thread: arrays in local memory and spills
  std::int64_t spill_bytes = 0;  // spill stores + spill loads in the code, each counted once
  std::int64_t static_shared_bytes = 0;
  std::int64_t instructions = 0;
  LoadsInFlight loads_in_flight = {};  // of global memory, per thread
  int loads_before_wait = 0;           // before the wait of an early start (griddepcontrol.wait)
};

/// The kernels of a cubin, sorted by name. Registers, stack and size come from the ELF file. Spills
/// and shared memory come from `log`, the output of ptxas -v; without it they are 0. Throws
/// InternalError if the file is malformed.
std::vector<KernelResources> read_resources(std::span<const std::byte> cubin, std::string_view log);

}  // namespace sinter
