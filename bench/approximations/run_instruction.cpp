#include "bench/approximations/run_instruction.h"

#include <string>

#include <fmt/format.h>

namespace sinter::approximations {

namespace {

constexpr int kThreads = 256;

/// Statements that compute `result`, as bits, from the bits `operand`.
std::string statements(const Instruction& instruction) {
  switch (instruction.format) {
    case Format::f32:
      return fmt::format(
          "  float value;\n"
          "  asm volatile(\"{} %0, {}%1;\" : \"=f\"(value) : \"f\"(__uint_as_float(operand)){});\n"
          "  const unsigned result = __float_as_uint(value);\n",
          instruction.opcode, instruction.dividend != 0 ? "%2, " : "",
          instruction.dividend != 0 ? ", \"f\"(dividend)" : "");
    case Format::f16:
    case Format::bf16:
      return fmt::format(
          "  unsigned short value;\n"
          "  asm volatile(\"{} %0, %1;\" : \"=h\"(value) : "
          "\"h\"(static_cast<unsigned short>(operand)));\n"
          "  const unsigned result = value;\n",
          instruction.opcode);
    case Format::f64_high_word:
      return fmt::format(
          "  double value;\n"
          "  asm volatile(\"{} %0, %1;\" : \"=d\"(value) : "
          "\"d\"(__hiloint2double(static_cast<int>(operand), 0)));\n"
          "  const unsigned result = static_cast<unsigned>(__double2hiint(value));\n",
          instruction.opcode);
  }
  return {};
}

Source kernel_of(const Instruction& instruction) {
  std::string entry = fmt::format("run_{}", instruction.opcode);
  for (char& c : entry) c = c == '.' ? '_' : c;
  std::string text = fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({})\n"
      "{}(const unsigned first, const unsigned stride, const unsigned count, const float "
      "dividend,\n"
      "   unsigned* results) {{\n"
      "  const unsigned i = blockIdx.x * {}u + threadIdx.x;\n"
      "  if (i >= count) return;\n"
      "  const unsigned operand = first + i * stride;\n"
      "{}"
      "  results[i] = result;\n"
      "}}\n",
      kThreads, entry, kThreads, statements(instruction));
  return {.entry = std::move(entry),
          .text = std::move(text),
          .arguments = {},
          .threads = kThreads,
          .traffic = {}};
}

}  // namespace

InstructionRunner::InstructionRunner(const Device& device, const Instruction& instruction)
    : device_(device),
      stream_(device.stream()),
      dividend_(static_cast<float>(instruction.dividend)),
      kernel_(device, kernel_of(instruction)) {}

std::vector<std::uint32_t> InstructionRunner::run(std::uint32_t first, std::uint32_t stride,
                                                  std::uint32_t count) const {
  const Array results = device_.empty(u32, {count});
  kernel_.launch(stream_, (count + kThreads - 1) / kThreads, first, stride, count, dividend_,
                 static_cast<void*>(results.pointer()));
  std::vector<std::uint32_t> bits(count);
  device_.download(results, static_cast<void*>(bits.data()), stream_);
  stream_.synchronize();
  return bits;
}

}  // namespace sinter::approximations
