// OpcodeText: an opcode as a template argument, so that a row of the table is made from its own
// text. A row cannot have modifiers or types other than those in its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sinter::virtual_gpu {

enum class Rounding : std::uint8_t {
  nearest_even,  ///< .rn, .rni
  nearest_away,  ///< .rna
  toward_zero,   ///< .rz, .rzi
  downward,      ///< .rm, .rmi
  upward,        ///< .rp, .rpi
};

/// The modifiers of a floating-point instruction or a conversion.
struct Modifiers {
  Rounding rounding = Rounding::nearest_even;
  bool rounds_to_integer = false;  ///< .rni, .rzi, .rmi, .rpi
  bool ftz = false;                ///< flushes subnormal f32 or f16 inputs and results to zero
  bool sat = false;
  bool satfinite = false;
  bool relu = false;
  bool propagates_nan = false;  ///< .NaN
  bool xorsign_abs = false;
  constexpr bool operator==(const Modifiers&) const = default;
};

template <std::size_t N>
struct OpcodeText {
  char text[N] = {};

  consteval OpcodeText(const char (&opcode)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = opcode[i];
  }
  /// The whole opcode. The characters have static storage duration, as template arguments have.
  constexpr std::string_view view() const { return {text, N - 1}; }
  constexpr int parts() const {
    int count = 1;
    for (const char c : text) count += c == '.';
    return count;
  }
  /// A part between dots. Negative indices count from the end. It searches by index, since GCC 12
  /// with -fsanitize=undefined cannot evaluate std::string_view::find at compile time.
  constexpr std::string_view part(int index) const {
    int skipped = index < 0 ? parts() + index : index;
    std::size_t begin = 0;
    while (skipped > 0) skipped -= text[begin++] == '.';
    std::size_t end = begin;
    while (end < N - 1 && text[end] != '.') ++end;
    return {text + begin, end - begin};
  }
};

/// The modifiers between the first part and the last `types` parts. An unknown one does not
/// compile.
template <std::size_t N>
consteval Modifiers modifiers_of(const OpcodeText<N>& opcode, int types) {
  Modifiers result;
  for (int i = 1; i < opcode.parts() - types; ++i) {
    std::string_view part = opcode.part(i);
    if (part == "rni" || part == "rzi" || part == "rmi" || part == "rpi") {
      result.rounds_to_integer = true;
      part.remove_suffix(1);
    }
    if (part == "rn")
      result.rounding = Rounding::nearest_even;
    else if (part == "rna")
      result.rounding = Rounding::nearest_away;
    else if (part == "rz")
      result.rounding = Rounding::toward_zero;
    else if (part == "rm")
      result.rounding = Rounding::downward;
    else if (part == "rp")
      result.rounding = Rounding::upward;
    else if (part == "ftz")
      result.ftz = true;
    else if (part == "sat")
      result.sat = true;
    else if (part == "satfinite")
      result.satfinite = true;
    else if (part == "relu")
      result.relu = true;
    else if (part == "NaN")
      result.propagates_nan = true;
    else if (part == "xorsign" && opcode.part(i + 1) == "abs")
      result.xorsign_abs = true;
    else if (part == "abs" && opcode.part(i - 1) == "xorsign")
      continue;
    else
      throw "the opcode has an unknown modifier";
  }
  return result;
}

}  // namespace sinter::virtual_gpu
