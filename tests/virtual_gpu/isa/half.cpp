// Rows of the f16 and bf16 instructions, and of their pairs (section 9.7.4 of the PTX ISA manual).
// ex2 and tanh are approximations, in approximations.cpp.
#include <cmath>

#include "tests/virtual_gpu/isa/float_arithmetic.h"
#include "tests/virtual_gpu/isa/half_floats.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu::half_rows {
namespace {

/// An operand or result. `.ftz` makes a subnormal f16 zero with its sign.
template <Modifiers kModifiers, class T>
T flushed_half(T value) {
  constexpr std::uint16_t kExponent = T::kFormat.infinity();
  constexpr std::uint16_t kSign = T::kFormat.sign();
  if (kModifiers.ftz && (value.bits & kExponent) == 0) value.bits &= kSign;
  return value;
}
template <Modifiers kModifiers, class T>
double operand(T value) {
  return decode(flushed_half<kModifiers>(value));
}
/// A value that is exact or rounded to odd. It is clamped first, since 0 and 1 are numbers of both
/// formats.
template <Modifiers kModifiers, class T>
T result(double value) {
  return flushed_half<kModifiers>(encode_half<T>(clamped<kModifiers>(value)));
}

constexpr Rounding kNearest = Rounding::nearest_even;

template <Modifiers kModifiers, class T>
T add(T a, T b) {
  const double sum = sum_to_odd<kNearest>(operand<kModifiers>(a), operand<kModifiers>(b));
  return result<kModifiers, T>(sum);
}
template <Modifiers kModifiers, class T>
T subtract(T a, T b) {
  const double difference = sum_to_odd<kNearest>(operand<kModifiers>(a), -operand<kModifiers>(b));
  return result<kModifiers, T>(difference);
}
/// Products of two values are exact in double.
template <Modifiers kModifiers, class T>
T multiply(T a, T b) {
  return result<kModifiers, T>(operand<kModifiers>(a) * operand<kModifiers>(b));
}
template <Modifiers kModifiers, class T>
T fused_multiply_add(T a, T b, T c) {
  const double product = operand<kModifiers>(a) * operand<kModifiers>(b);
  return result<kModifiers, T>(sum_to_odd<kNearest>(product, operand<kModifiers>(c)));
}
/// Sections 9.7.4.5 and 9.7.4.6 leave the NaN of neg and abs unspecified; it is the canonical one.
template <Modifiers kModifiers, class T>
T negate(T a) {
  return result<kModifiers, T>(-operand<kModifiers>(a));
}
template <Modifiers kModifiers, class T>
T absolute(T a) {
  return result<kModifiers, T>(std::fabs(operand<kModifiers>(a)));
}
template <Modifiers kModifiers, bool kIsMaximum, class T>
T extremum_half(T a, T b) {
  const double value =
      extremum<kModifiers, kIsMaximum>(operand<kModifiers>(a), operand<kModifiers>(b));
  return result<kModifiers, T>(value);
}

/// The function on both halves of a register.
template <auto kFunction, class T, class... Registers>
std::uint32_t on_pair(Registers... registers) {
  const T low = kFunction(T{static_cast<std::uint16_t>(registers)}...);
  const T high = kFunction(T{static_cast<std::uint16_t>(registers >> 16)}...);
  return std::uint32_t{high.bits} << 16 | low.bits;
}
template <class T>
using Register = std::uint32_t;
template <auto kFunction, class T, class... Operands>
consteval Semantics pair_row(std::string_view opcode, std::string_view section,
                             T (*)(Operands...)) {
  return lanewise<&on_pair<kFunction, T, Register<Operands>...>>(opcode, section);
}

/// The row of a function of scalars, for an opcode of scalars or of pairs.
template <OpcodeText kOpcode, auto kFunction>
consteval Semantics scalar_or_pair(std::string_view section) {
  if constexpr (kOpcode.part(-1).ends_with("x2"))
    return pair_row<kFunction>(kOpcode.view(), section, kFunction);
  else
    return lanewise<kFunction>(kOpcode.view(), section);
}

template <OpcodeText kOpcode, class T>
consteval Semantics make_row() {
  constexpr Modifiers kModifiers = modifiers_of(kOpcode, 1);
  constexpr std::string_view kBase = kOpcode.part(0);
  if constexpr (kBase == "add")
    return scalar_or_pair<kOpcode, &add<kModifiers, T>>("9.7.4.1");
  else if constexpr (kBase == "sub")
    return scalar_or_pair<kOpcode, &subtract<kModifiers, T>>("9.7.4.2");
  else if constexpr (kBase == "mul")
    return scalar_or_pair<kOpcode, &multiply<kModifiers, T>>("9.7.4.3");
  else if constexpr (kBase == "fma")
    return scalar_or_pair<kOpcode, &fused_multiply_add<kModifiers, T>>("9.7.4.4");
  else if constexpr (kBase == "neg")
    return scalar_or_pair<kOpcode, &negate<kModifiers, T>>("9.7.4.5");
  else if constexpr (kBase == "abs")
    return scalar_or_pair<kOpcode, &absolute<kModifiers, T>>("9.7.4.6");
  else if constexpr (kBase == "min")
    return scalar_or_pair<kOpcode, &extremum_half<kModifiers, false, T>>("9.7.4.7");
  else if constexpr (kBase == "max")
    return scalar_or_pair<kOpcode, &extremum_half<kModifiers, true, T>>("9.7.4.8");
}

template <OpcodeText kOpcode>
constexpr Semantics row = [] {
  if constexpr (kOpcode.part(-1).starts_with("f16"))
    return make_row<kOpcode, Half>();
  else
    return make_row<kOpcode, Bfloat>();
}();

// clang-format off
constexpr Semantics kRows[] = {
    row<"add.f16">, row<"add.sat.f16">, row<"add.ftz.f16">, row<"add.ftz.sat.f16">,
    row<"add.rn.f16">, row<"add.rn.sat.f16">, row<"add.rn.ftz.f16">, row<"add.rn.ftz.sat.f16">,
    row<"add.f16x2">, row<"add.sat.f16x2">, row<"add.ftz.f16x2">, row<"add.ftz.sat.f16x2">,
    row<"add.rn.f16x2">, row<"add.rn.sat.f16x2">, row<"add.rn.ftz.f16x2">,
    row<"add.rn.ftz.sat.f16x2">, row<"add.bf16">, row<"add.rn.bf16">, row<"add.bf16x2">,
    row<"add.rn.bf16x2">,
    row<"sub.f16">, row<"sub.sat.f16">, row<"sub.ftz.f16">, row<"sub.ftz.sat.f16">,
    row<"sub.rn.f16">, row<"sub.rn.sat.f16">, row<"sub.rn.ftz.f16">, row<"sub.rn.ftz.sat.f16">,
    row<"sub.f16x2">, row<"sub.sat.f16x2">, row<"sub.ftz.f16x2">, row<"sub.ftz.sat.f16x2">,
    row<"sub.rn.f16x2">, row<"sub.rn.sat.f16x2">, row<"sub.rn.ftz.f16x2">,
    row<"sub.rn.ftz.sat.f16x2">, row<"sub.bf16">, row<"sub.rn.bf16">, row<"sub.bf16x2">,
    row<"sub.rn.bf16x2">,
    row<"mul.f16">, row<"mul.sat.f16">, row<"mul.ftz.f16">, row<"mul.ftz.sat.f16">,
    row<"mul.rn.f16">, row<"mul.rn.sat.f16">, row<"mul.rn.ftz.f16">, row<"mul.rn.ftz.sat.f16">,
    row<"mul.f16x2">, row<"mul.sat.f16x2">, row<"mul.ftz.f16x2">, row<"mul.ftz.sat.f16x2">,
    row<"mul.rn.f16x2">, row<"mul.rn.sat.f16x2">, row<"mul.rn.ftz.f16x2">,
    row<"mul.rn.ftz.sat.f16x2">, row<"mul.bf16">, row<"mul.rn.bf16">, row<"mul.bf16x2">,
    row<"mul.rn.bf16x2">,
    row<"fma.rn.f16">, row<"fma.rn.sat.f16">, row<"fma.rn.relu.f16">, row<"fma.rn.ftz.f16">,
    row<"fma.rn.ftz.sat.f16">, row<"fma.rn.ftz.relu.f16">, row<"fma.rn.f16x2">,
    row<"fma.rn.sat.f16x2">, row<"fma.rn.relu.f16x2">, row<"fma.rn.ftz.f16x2">,
    row<"fma.rn.ftz.sat.f16x2">, row<"fma.rn.ftz.relu.f16x2">, row<"fma.rn.bf16">,
    row<"fma.rn.relu.bf16">, row<"fma.rn.bf16x2">, row<"fma.rn.relu.bf16x2">,
    row<"neg.f16">, row<"neg.ftz.f16">, row<"neg.f16x2">, row<"neg.ftz.f16x2">, row<"neg.bf16">,
    row<"neg.bf16x2">,
    row<"abs.f16">, row<"abs.ftz.f16">, row<"abs.f16x2">, row<"abs.ftz.f16x2">, row<"abs.bf16">,
    row<"abs.bf16x2">,
    row<"min.f16">, row<"min.xorsign.abs.f16">, row<"min.NaN.f16">, row<"min.NaN.xorsign.abs.f16">,
    row<"min.ftz.f16">, row<"min.ftz.xorsign.abs.f16">, row<"min.ftz.NaN.f16">,
    row<"min.ftz.NaN.xorsign.abs.f16">, row<"min.f16x2">, row<"min.xorsign.abs.f16x2">,
    row<"min.NaN.f16x2">, row<"min.NaN.xorsign.abs.f16x2">, row<"min.ftz.f16x2">,
    row<"min.ftz.xorsign.abs.f16x2">, row<"min.ftz.NaN.f16x2">,
    row<"min.ftz.NaN.xorsign.abs.f16x2">, row<"min.bf16">, row<"min.xorsign.abs.bf16">,
    row<"min.NaN.bf16">, row<"min.NaN.xorsign.abs.bf16">, row<"min.bf16x2">,
    row<"min.xorsign.abs.bf16x2">, row<"min.NaN.bf16x2">, row<"min.NaN.xorsign.abs.bf16x2">,
    row<"max.f16">, row<"max.xorsign.abs.f16">, row<"max.NaN.f16">, row<"max.NaN.xorsign.abs.f16">,
    row<"max.ftz.f16">, row<"max.ftz.xorsign.abs.f16">, row<"max.ftz.NaN.f16">,
    row<"max.ftz.NaN.xorsign.abs.f16">, row<"max.f16x2">, row<"max.xorsign.abs.f16x2">,
    row<"max.NaN.f16x2">, row<"max.NaN.xorsign.abs.f16x2">, row<"max.ftz.f16x2">,
    row<"max.ftz.xorsign.abs.f16x2">, row<"max.ftz.NaN.f16x2">,
    row<"max.ftz.NaN.xorsign.abs.f16x2">, row<"max.bf16">, row<"max.xorsign.abs.bf16">,
    row<"max.NaN.bf16">, row<"max.NaN.xorsign.abs.bf16">, row<"max.bf16x2">,
    row<"max.xorsign.abs.bf16x2">, row<"max.NaN.bf16x2">, row<"max.NaN.xorsign.abs.bf16x2">,
};
// clang-format on

}  // namespace
}  // namespace sinter::virtual_gpu::half_rows

namespace sinter::virtual_gpu {

std::span<const Semantics> half_semantics() { return half_rows::kRows; }

}  // namespace sinter::virtual_gpu
