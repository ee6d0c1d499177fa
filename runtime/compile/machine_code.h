// Reads from the instructions of a kernel how many loads of global memory a thread has on its way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter {

/// From sm_70 on.
inline constexpr std::size_t kInstructionBytes = 16;

struct LoadsInFlight {
  int loads = 0;
  std::int64_t bytes = 0;  ///< of one thread
};

/// The most loads (by bytes) that a thread has issued before it waits for one of them, along code
/// that runs straight on: where a jump is taken nothing is carried over, so there may be more.
///
/// NVIDIA does not document the format; it is the same from sm_70 to sm_120: 16 bytes an
/// instruction, whose lowest 9 bits say what it does. Each load names one of six counters (bits
/// 110-112), and an instruction that needs a result waits for that counter (bits 116-121). A test
/// compares this with kernels whose loads are known, for every architecture of NVRTC.
LoadsInFlight most_loads_in_flight(std::span<const std::byte> code);

/// Loads of global memory in front of the instruction by which a kernel that was started early
/// waits for those before it (griddepcontrol.wait); all of them if there is none.
int loads_before_wait(std::span<const std::byte> code);

}  // namespace sinter
