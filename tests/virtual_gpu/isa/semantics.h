// The table of arithmetic instructions. A row has an opcode, its meaning as a function of one lane,
// and its section of the PTX ISA manual. Memory and control instructions are in execution/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tests/virtual_gpu/isa/lane_state.h"

namespace sinter::virtual_gpu {

/// The registers that an operand may be.
enum class Width : std::uint8_t {
  none,
  predicate,
  word,         ///< a register of 8, 16 or 32 bits, which occupies 32 bits per lane
  double_word,  ///< a register of 64 bits
};

struct Semantics {
  std::string_view opcode;  ///< with all modifiers, as NVRTC writes it: `mul.wide.s32`
  Execute execute;
  std::array<Width, 2> results;
  std::array<Width, 4> operands;
  std::string_view section;  ///< of the PTX ISA manual: `9.7.1.3`
  int operand_count() const {
    int count = 0;
    while (count < 4 && operands[count] != Width::none) ++count;
    return count;
  }
};

/// The rows, by topic. Each is defined in the file of the same name.
std::span<const Semantics> integer_semantics();      ///< add, mul, mad, div, rem, min, max, …
std::span<const Semantics> bit_semantics();          ///< and, shl, shf, lop3, prmt, bfe, popc, …
std::span<const Semantics> comparison_semantics();   ///< setp, set, selp, slct, predicates
std::span<const Semantics> float_semantics();        ///< f32 and f64, exactly rounded
std::span<const Semantics> half_semantics();         ///< f16, bf16 and their pairs
std::span<const Semantics> conversion_semantics();   ///< cvt
std::span<const Semantics> approximate_semantics();  ///< ex2.approx, rcp.approx, tanh.approx, …

std::span<const Semantics> extremum_semantics();  ///< min and max of three operands

/// Null if the table lacks the opcode. Some opcodes have a row per number of operands: it is used
/// to choose one.
const Semantics* find_semantics(std::string_view opcode, int operand_count = 2);

}  // namespace sinter::virtual_gpu
