// Reads back what the compiler made of each kernel: registers, stack, spills, shared memory, size.
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
  std::int64_t spill_bytes = 0;  // stored and loaded, as code, not as executed
  std::int64_t static_shared_bytes = 0;
  std::int64_t instructions = 0;
  LoadsInFlight loads_in_flight = {};  // of global memory, of one thread
  int loads_before_wait = 0;           // for the kernels in front of an early start
};

/// The kernels of a cubin, by name. Registers, stack and size come from the ELF file; spills and
/// shared memory only from `log`, what ptxas -v said (without it they stay 0). Throws InternalError
/// if the file is none that we can read.
std::vector<KernelResources> read_resources(std::span<const std::byte> cubin, std::string_view log);

}  // namespace sinter
