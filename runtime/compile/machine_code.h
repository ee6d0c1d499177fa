// Finds the number of global loads that a thread has in flight, from a kernel's machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter {

/// The size of an instruction, from sm_70 on.
inline constexpr std::size_t kInstructionBytes = 16;

struct LoadsInFlight {
  int loads = 0;
  std::int64_t bytes = 0;  ///< per thread
};

/// The most loads (by bytes) that a thread issues before it waits for one of them, along
/// straight-line code. The count restarts after each unconditional jump, so the real number may be
/// higher.
///
/// NVIDIA does not document the format. From sm_70 to sm_120, an instruction has 16 bytes, and its
/// lowest 9 bits are the operation. Each load names one of six counters (bits 110-112). An
/// instruction that needs a result waits for its counter (bits 116-121). A test compares this with
/// kernels whose loads are known, for every architecture of NVRTC.
LoadsInFlight most_loads_in_flight(std::span<const std::byte> code);

/// The global loads before the instruction with which an early started kernel waits for earlier
/// kernels (griddepcontrol.wait). All loads if there is no such instruction.
int loads_before_wait(std::span<const std::byte> code);

}  // namespace sinter
