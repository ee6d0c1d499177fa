// Rows of the exactly rounded f32 and f64 instructions and of pairs of f32 (section 9.7.3 of the
// PTX ISA manual).
#include <cmath>

#include "tests/virtual_gpu/isa/float_arithmetic.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu::float_rows {
namespace {

template <Modifiers kModifiers, class T>
T add_row(T a, T b) {
  a = flushed<kModifiers>(a);
  b = flushed<kModifiers>(b);
  return finished<kModifiers>(add<kModifiers.rounding>(a, b), a, b);
}
template <Modifiers kModifiers, class T>
T subtract_row(T a, T b) {
  a = flushed<kModifiers>(a);
  b = flushed<kModifiers>(b);
  return finished<kModifiers>(add<kModifiers.rounding>(a, -b), a, b);
}
template <Modifiers kModifiers, class T>
T multiply_row(T a, T b) {
  a = flushed<kModifiers>(a);
  b = flushed<kModifiers>(b);
  return finished<kModifiers>(multiply<kModifiers.rounding>(a, b), a, b);
}
template <Modifiers kModifiers, class T>
T fused_multiply_add_row(T a, T b, T c) {
  a = flushed<kModifiers>(a);
  b = flushed<kModifiers>(b);
  c = flushed<kModifiers>(c);
  return finished<kModifiers>(fused_multiply_add<kModifiers.rounding>(a, b, c), a, b, c);
}
template <Modifiers kModifiers, class T>
T divide_row(T a, T b) {
  a = flushed<kModifiers>(a);
  b = flushed<kModifiers>(b);
  return finished<kModifiers>(divide<kModifiers.rounding>(a, b), a, b);
}
template <Modifiers kModifiers, class T>
T reciprocal_row(T a) {
  return divide_row<kModifiers>(T{1}, a);
}
template <Modifiers kModifiers, class T>
T square_root_row(T a) {
  a = flushed<kModifiers>(a);
  return finished<kModifiers>(square_root<kModifiers.rounding>(a), a);
}

/// Section 9.7.3.9: `abs.f64` passes a NaN through unchanged; the NaN of `abs.f32` is unspecified.
template <Modifiers kModifiers, class T>
T absolute_row(T a) {
  if constexpr (std::is_same_v<T, double>)
    return std::isnan(a) ? a : std::fabs(a);
  else
    return finished<kModifiers>(std::fabs(a));
}
/// Section 9.7.3.10 leaves the NaN unspecified. That of f64 has the payload of the operand.
template <Modifiers kModifiers, class T>
T negate_row(T a) {
  if constexpr (std::is_same_v<T, double>)
    return -a;
  else
    return finished<kModifiers>(-a);
}
template <Modifiers kModifiers, bool kIsMaximum, class T>
T extremum_row(T a, T b) {
  return extremum<kModifiers, kIsMaximum>(a, b);
}

/// Section 9.7.3.2: the sign of a and the value of b.
template <class T>
T copysign_row(T a, T b) {
  return std::copysign(b, a);
}

template <class T>
bool is_finite(T a) {
  return std::isfinite(a);
}
template <class T>
bool is_infinite(T a) {
  return std::isinf(a);
}
template <class T>
bool is_number(T a) {
  return !std::isnan(a);
}
template <class T>
bool is_not_a_number(T a) {
  return std::isnan(a);
}
/// Section 9.7.3.1: zeros are normal numbers.
template <class T>
bool is_normal(T a) {
  return std::isnormal(a) || a == 0;
}
template <class T>
bool is_subnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}

template <OpcodeText kOpcode, class T>
consteval Semantics testp_row() {
  constexpr std::string_view kProperty = kOpcode.part(1);
  constexpr std::string_view kSection = "9.7.3.1";
  if constexpr (kProperty == "finite")
    return lanewise<&is_finite<T>>(kOpcode.view(), kSection);
  else if constexpr (kProperty == "infinite")
    return lanewise<&is_infinite<T>>(kOpcode.view(), kSection);
  else if constexpr (kProperty == "number")
    return lanewise<&is_number<T>>(kOpcode.view(), kSection);
  else if constexpr (kProperty == "notanumber")
    return lanewise<&is_not_a_number<T>>(kOpcode.view(), kSection);
  else if constexpr (kProperty == "normal")
    return lanewise<&is_normal<T>>(kOpcode.view(), kSection);
  else if constexpr (kProperty == "subnormal")
    return lanewise<&is_subnormal<T>>(kOpcode.view(), kSection);
}

/// The function on both halves of registers of 64 bits (`.f32x2`).
template <auto kFunction, class... Registers>
std::uint64_t on_pair(Registers... registers) {
  const auto low = kFunction(std::bit_cast<float>(static_cast<std::uint32_t>(registers))...);
  const auto high = kFunction(std::bit_cast<float>(static_cast<std::uint32_t>(registers >> 32))...);
  return std::uint64_t{std::bit_cast<std::uint32_t>(high)} << 32 |
         std::bit_cast<std::uint32_t>(low);
}
template <class T>
using Register = std::uint64_t;
template <auto kFunction, class... Operands>
consteval Semantics pair_row(std::string_view opcode, std::string_view section,
                             float (*)(Operands...)) {
  return lanewise<&on_pair<kFunction, Register<Operands>...>>(opcode, section);
}

/// The row of a function of scalars, for an opcode of scalars or of pairs.
template <OpcodeText kOpcode, auto kFunction>
consteval Semantics scalar_or_pair(std::string_view section) {
  if constexpr (kOpcode.part(-1) == "f32x2")
    return pair_row<kFunction>(kOpcode.view(), section, kFunction);
  else
    return lanewise<kFunction>(kOpcode.view(), section);
}

template <OpcodeText kOpcode, class T>
consteval Semantics make_row() {
  constexpr Modifiers kModifiers = modifiers_of(kOpcode, 1);
  constexpr std::string_view kBase = kOpcode.part(0);
  if constexpr (kBase == "add")
    return scalar_or_pair<kOpcode, &add_row<kModifiers, T>>("9.7.3.3");
  else if constexpr (kBase == "sub")
    return scalar_or_pair<kOpcode, &subtract_row<kModifiers, T>>("9.7.3.4");
  else if constexpr (kBase == "mul")
    return scalar_or_pair<kOpcode, &multiply_row<kModifiers, T>>("9.7.3.5");
  else if constexpr (kBase == "fma")
    return scalar_or_pair<kOpcode, &fused_multiply_add_row<kModifiers, T>>("9.7.3.6");
  else if constexpr (kBase == "mad")
    return scalar_or_pair<kOpcode, &fused_multiply_add_row<kModifiers, T>>("9.7.3.7");
  else if constexpr (kBase == "div")
    return scalar_or_pair<kOpcode, &divide_row<kModifiers, T>>("9.7.3.8");
  else if constexpr (kBase == "abs")
    return scalar_or_pair<kOpcode, &absolute_row<kModifiers, T>>("9.7.3.9");
  else if constexpr (kBase == "neg")
    return scalar_or_pair<kOpcode, &negate_row<kModifiers, T>>("9.7.3.10");
  else if constexpr (kBase == "min")
    return scalar_or_pair<kOpcode, &extremum_row<kModifiers, false, T>>("9.7.3.11");
  else if constexpr (kBase == "max")
    return scalar_or_pair<kOpcode, &extremum_row<kModifiers, true, T>>("9.7.3.12");
  else if constexpr (kBase == "rcp")
    return scalar_or_pair<kOpcode, &reciprocal_row<kModifiers, T>>("9.7.3.13");
  else if constexpr (kBase == "sqrt")
    return scalar_or_pair<kOpcode, &square_root_row<kModifiers, T>>("9.7.3.15");
}

template <OpcodeText kOpcode, class T>
consteval Semantics any_row() {
  if constexpr (kOpcode.part(0) == "testp")
    return testp_row<kOpcode, T>();
  else if constexpr (kOpcode.part(0) == "copysign")
    return lanewise<&copysign_row<T>>(kOpcode.view(), "9.7.3.2");
  else
    return make_row<kOpcode, T>();
}

template <OpcodeText kOpcode>
constexpr Semantics row = [] {
  if constexpr (kOpcode.part(-1) == "f64")
    return any_row<kOpcode, double>();
  else
    return any_row<kOpcode, float>();
}();

// clang-format off
constexpr Semantics kRows[] = {
    row<"add.f32">, row<"add.sat.f32">, row<"add.ftz.f32">, row<"add.ftz.sat.f32">,
    row<"add.rn.f32">, row<"add.rn.sat.f32">, row<"add.rn.ftz.f32">, row<"add.rn.ftz.sat.f32">,
    row<"add.rz.f32">, row<"add.rz.sat.f32">, row<"add.rz.ftz.f32">, row<"add.rz.ftz.sat.f32">,
    row<"add.rm.f32">, row<"add.rm.sat.f32">, row<"add.rm.ftz.f32">, row<"add.rm.ftz.sat.f32">,
    row<"add.rp.f32">, row<"add.rp.sat.f32">, row<"add.rp.ftz.f32">, row<"add.rp.ftz.sat.f32">,
    row<"add.f64">, row<"add.rn.f64">, row<"add.rz.f64">, row<"add.rm.f64">, row<"add.rp.f64">,
    row<"add.f32x2">, row<"add.ftz.f32x2">, row<"add.rn.f32x2">, row<"add.rn.ftz.f32x2">,
    row<"add.rz.f32x2">, row<"add.rz.ftz.f32x2">, row<"add.rm.f32x2">, row<"add.rm.ftz.f32x2">,
    row<"add.rp.f32x2">, row<"add.rp.ftz.f32x2">,
    row<"sub.f32">, row<"sub.sat.f32">, row<"sub.ftz.f32">, row<"sub.ftz.sat.f32">,
    row<"sub.rn.f32">, row<"sub.rn.sat.f32">, row<"sub.rn.ftz.f32">, row<"sub.rn.ftz.sat.f32">,
    row<"sub.rz.f32">, row<"sub.rz.sat.f32">, row<"sub.rz.ftz.f32">, row<"sub.rz.ftz.sat.f32">,
    row<"sub.rm.f32">, row<"sub.rm.sat.f32">, row<"sub.rm.ftz.f32">, row<"sub.rm.ftz.sat.f32">,
    row<"sub.rp.f32">, row<"sub.rp.sat.f32">, row<"sub.rp.ftz.f32">, row<"sub.rp.ftz.sat.f32">,
    row<"sub.f64">, row<"sub.rn.f64">, row<"sub.rz.f64">, row<"sub.rm.f64">, row<"sub.rp.f64">,
    row<"sub.f32x2">, row<"sub.ftz.f32x2">, row<"sub.rn.f32x2">, row<"sub.rn.ftz.f32x2">,
    row<"sub.rz.f32x2">, row<"sub.rz.ftz.f32x2">, row<"sub.rm.f32x2">, row<"sub.rm.ftz.f32x2">,
    row<"sub.rp.f32x2">, row<"sub.rp.ftz.f32x2">,
    row<"mul.f32">, row<"mul.sat.f32">, row<"mul.ftz.f32">, row<"mul.ftz.sat.f32">,
    row<"mul.rn.f32">, row<"mul.rn.sat.f32">, row<"mul.rn.ftz.f32">, row<"mul.rn.ftz.sat.f32">,
    row<"mul.rz.f32">, row<"mul.rz.sat.f32">, row<"mul.rz.ftz.f32">, row<"mul.rz.ftz.sat.f32">,
    row<"mul.rm.f32">, row<"mul.rm.sat.f32">, row<"mul.rm.ftz.f32">, row<"mul.rm.ftz.sat.f32">,
    row<"mul.rp.f32">, row<"mul.rp.sat.f32">, row<"mul.rp.ftz.f32">, row<"mul.rp.ftz.sat.f32">,
    row<"mul.f64">, row<"mul.rn.f64">, row<"mul.rz.f64">, row<"mul.rm.f64">, row<"mul.rp.f64">,
    row<"mul.f32x2">, row<"mul.ftz.f32x2">, row<"mul.rn.f32x2">, row<"mul.rn.ftz.f32x2">,
    row<"mul.rz.f32x2">, row<"mul.rz.ftz.f32x2">, row<"mul.rm.f32x2">, row<"mul.rm.ftz.f32x2">,
    row<"mul.rp.f32x2">, row<"mul.rp.ftz.f32x2">,
    row<"fma.rn.f32">, row<"fma.rn.sat.f32">, row<"fma.rn.ftz.f32">, row<"fma.rn.ftz.sat.f32">,
    row<"fma.rz.f32">, row<"fma.rz.sat.f32">, row<"fma.rz.ftz.f32">, row<"fma.rz.ftz.sat.f32">,
    row<"fma.rm.f32">, row<"fma.rm.sat.f32">, row<"fma.rm.ftz.f32">, row<"fma.rm.ftz.sat.f32">,
    row<"fma.rp.f32">, row<"fma.rp.sat.f32">, row<"fma.rp.ftz.f32">, row<"fma.rp.ftz.sat.f32">,
    row<"fma.rn.f64">, row<"fma.rz.f64">, row<"fma.rm.f64">, row<"fma.rp.f64">, row<"fma.rn.f32x2">,
    row<"fma.rn.ftz.f32x2">, row<"fma.rz.f32x2">, row<"fma.rz.ftz.f32x2">, row<"fma.rm.f32x2">,
    row<"fma.rm.ftz.f32x2">, row<"fma.rp.f32x2">, row<"fma.rp.ftz.f32x2">,
    row<"mad.rn.f32">, row<"mad.rn.sat.f32">, row<"mad.rn.ftz.f32">, row<"mad.rn.ftz.sat.f32">,
    row<"mad.rz.f32">, row<"mad.rz.sat.f32">, row<"mad.rz.ftz.f32">, row<"mad.rz.ftz.sat.f32">,
    row<"mad.rm.f32">, row<"mad.rm.sat.f32">, row<"mad.rm.ftz.f32">, row<"mad.rm.ftz.sat.f32">,
    row<"mad.rp.f32">, row<"mad.rp.sat.f32">, row<"mad.rp.ftz.f32">, row<"mad.rp.ftz.sat.f32">,
    row<"mad.rn.f64">, row<"mad.rz.f64">, row<"mad.rm.f64">, row<"mad.rp.f64">,
    row<"div.rn.f32">, row<"div.rn.ftz.f32">, row<"div.rz.f32">, row<"div.rz.ftz.f32">,
    row<"div.rm.f32">, row<"div.rm.ftz.f32">, row<"div.rp.f32">, row<"div.rp.ftz.f32">,
    row<"div.rn.f64">, row<"div.rz.f64">, row<"div.rm.f64">, row<"div.rp.f64">,
    row<"rcp.rn.f32">, row<"rcp.rn.ftz.f32">, row<"rcp.rz.f32">, row<"rcp.rz.ftz.f32">,
    row<"rcp.rm.f32">, row<"rcp.rm.ftz.f32">, row<"rcp.rp.f32">, row<"rcp.rp.ftz.f32">,
    row<"rcp.rn.f64">, row<"rcp.rz.f64">, row<"rcp.rm.f64">, row<"rcp.rp.f64">,
    row<"sqrt.rn.f32">, row<"sqrt.rn.ftz.f32">, row<"sqrt.rz.f32">, row<"sqrt.rz.ftz.f32">,
    row<"sqrt.rm.f32">, row<"sqrt.rm.ftz.f32">, row<"sqrt.rp.f32">, row<"sqrt.rp.ftz.f32">,
    row<"sqrt.rn.f64">, row<"sqrt.rz.f64">, row<"sqrt.rm.f64">, row<"sqrt.rp.f64">,
    row<"abs.f32">, row<"abs.ftz.f32">, row<"abs.f64">,
    row<"neg.f32">, row<"neg.ftz.f32">, row<"neg.f64">,
    row<"min.f32">, row<"min.xorsign.abs.f32">, row<"min.NaN.f32">, row<"min.NaN.xorsign.abs.f32">,
    row<"min.ftz.f32">, row<"min.ftz.xorsign.abs.f32">, row<"min.ftz.NaN.f32">,
    row<"min.ftz.NaN.xorsign.abs.f32">, row<"min.f64">,
    row<"max.f32">, row<"max.xorsign.abs.f32">, row<"max.NaN.f32">, row<"max.NaN.xorsign.abs.f32">,
    row<"max.ftz.f32">, row<"max.ftz.xorsign.abs.f32">, row<"max.ftz.NaN.f32">,
    row<"max.ftz.NaN.xorsign.abs.f32">, row<"max.f64">,
    row<"copysign.f32">, row<"copysign.f64">,
    row<"testp.finite.f32">, row<"testp.infinite.f32">, row<"testp.number.f32">,
    row<"testp.notanumber.f32">, row<"testp.normal.f32">, row<"testp.subnormal.f32">,
    row<"testp.finite.f64">, row<"testp.infinite.f64">, row<"testp.number.f64">,
    row<"testp.notanumber.f64">, row<"testp.normal.f64">, row<"testp.subnormal.f64">,
};
// clang-format on

}  // namespace
}  // namespace sinter::virtual_gpu::float_rows

namespace sinter::virtual_gpu {

std::span<const Semantics> float_semantics() { return float_rows::kRows; }

}  // namespace sinter::virtual_gpu
