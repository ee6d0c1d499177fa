// Rows of the f32 min and max of three operands (sections 9.7.3.11 and 9.7.3.12 of the PTX ISA
// manual, from sm_100 on).
#include <cmath>

#include "tests/virtual_gpu/isa/float_arithmetic.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu::extremum_rows {
namespace {

/// The manual applies the operation of two operands twice. `.abs` takes all magnitudes first.
template <Modifiers kModifiers, bool kIsMaximum, bool kIsAbsolute>
float extremum_of_three(float a, float b, float c) {
  if constexpr (kIsAbsolute) a = std::fabs(a), b = std::fabs(b), c = std::fabs(c);
  const float first = extremum<kModifiers, kIsMaximum>(a, b);
  return extremum<kModifiers, kIsMaximum>(first, c);
}

/// `.abs` is the last modifier.
template <OpcodeText kOpcode>
constexpr Semantics row = [] {
  constexpr bool kIsAbsolute = kOpcode.part(-2) == "abs";
  constexpr bool kIsMaximum = kOpcode.part(0) == "max";
  constexpr Modifiers kModifiers = modifiers_of(kOpcode, kIsAbsolute ? 2 : 1);
  return lanewise<&extremum_of_three<kModifiers, kIsMaximum, kIsAbsolute>>(
      kOpcode.view(), kIsMaximum ? "9.7.3.12" : "9.7.3.11");
}();

// clang-format off
constexpr Semantics kRows[] = {
    row<"min.f32">, row<"min.NaN.f32">, row<"min.abs.f32">, row<"min.NaN.abs.f32">,
    row<"min.ftz.f32">, row<"min.ftz.NaN.f32">, row<"min.ftz.abs.f32">, row<"min.ftz.NaN.abs.f32">,
    row<"max.f32">, row<"max.NaN.f32">, row<"max.abs.f32">, row<"max.NaN.abs.f32">,
    row<"max.ftz.f32">, row<"max.ftz.NaN.f32">, row<"max.ftz.abs.f32">, row<"max.ftz.NaN.abs.f32">,
};
// clang-format on

}  // namespace
}  // namespace sinter::virtual_gpu::extremum_rows

namespace sinter::virtual_gpu {

std::span<const Semantics> extremum_semantics() { return extremum_rows::kRows; }

}  // namespace sinter::virtual_gpu
