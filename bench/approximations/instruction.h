// The approximate instructions of PTX, with the operands for which their errors are measured.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::approximations {

/// The type of operands and results, and the bits that represent it here.
enum class Format : std::uint8_t { f32, f16, bf16, f64_high_word };

/// Consecutive operands, as bits: all mantissas of one exponent, or all numbers of 16 bits.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Instruction {
  std::string_view opcode;
  Format format = Format::f32;
  bool flushes = false;  ///< subnormal operands and results are zero
  int least_capability = 70;
  double dividend = 0;  ///< of a division, whose divisor is the operand; 0: no division
  double (*exact)(double operand) = nullptr;
  long double (*precise)(long double operand) = nullptr;
  std::vector<Range> ranges = {};
};

/// All instructions that the virtual GPU knows, except rsqrt.approx.f64, whose operands are too
/// many.
std::span<const Instruction> instructions();

/// The value of bits of that format.
double value_of(Format format, std::uint32_t bits);
/// The operand that the instruction works with: 0 in place of a subnormal one that it flushes.
double operand_of(const Instruction& instruction, std::uint32_t bits);
/// The correctly rounded result, as bits, for an operand whose exact result is `exact`. A NaN has
/// any payload.
std::uint32_t rounded_result(const Instruction& instruction, double operand, double exact);
/// The distance between neighbours of the format at a finite value.
double ulp_at(Format format, double value);

}  // namespace sinter::approximations
