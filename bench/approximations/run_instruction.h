// Runs one instruction for many operands on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/approximations/instruction.h"
#include "bench/device/device_kernel.h"

namespace sinter::approximations {

class InstructionRunner {
 public:
  /// Compiles the kernel. Throws CompileError if the GPU lacks the instruction.
  InstructionRunner(const Device& device, const Instruction& instruction);

  /// The results for `count` operands from `first` on, in steps of `stride`.
  std::vector<std::uint32_t> run(std::uint32_t first, std::uint32_t stride,
                                 std::uint32_t count) const;

 private:
  Device device_;
  Stream stream_;
  float dividend_;
  measured::DeviceKernel kernel_;
};

}  // namespace sinter::approximations
