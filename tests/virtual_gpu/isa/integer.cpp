// Integer arithmetic: sections 9.7.1 and 9.7.2 of the PTX ISA manual, without its bit operations.
#include <algorithm>

#include "tests/virtual_gpu/isa/integer_types.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu {
namespace integer_rows {
namespace {

using namespace integer_types;

template <std::integral T>
T add(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
}
template <std::integral T>
T sub(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
}
template <std::integral T>
T mul_lo(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
}
template <std::integral T>
Double<T> mul_wide(T a, T b) {
  return Double<T>(a) * Double<T>(b);
}
template <std::integral T>
T mul_hi(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> kBits<T>);
}
template <std::integral T>
T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <std::integral T>
T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
template <std::integral T>
Double<T> mad_wide(T a, T b, Double<T> c) {
  return add(mul_wide(a, b), c);
}

s32 saturate(s64 value) {
  return static_cast<s32>(
      std::clamp<s64>(value, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max()));
}
s32 add_sat(s32 a, s32 b) { return saturate(s64{a} + b); }
s32 sub_sat(s32 a, s32 b) { return saturate(s64{a} - b); }
s32 mad_hi_sat(s32 a, s32 b, s32 c) { return saturate(s64{mul_hi(a, b)} + c); }

/// The value of the low 24 bits. The manual leaves operands of more bits open.
template <std::integral T>
Double<T> low_24(T a) {
  return static_cast<T>(static_cast<u32>(a) << 8) >> 8;
}
template <std::integral T>
T mul24_lo(T a, T b) {
  return static_cast<T>(low_24(a) * low_24(b));
}
template <std::integral T>
T mul24_hi(T a, T b) {
  return static_cast<T>((low_24(a) * low_24(b)) >> 16);
}
template <std::integral T>
T mad24_lo(T a, T b, T c) {
  return add(mul24_lo(a, b), c);
}
template <std::integral T>
T mad24_hi(T a, T b, T c) {
  return add(mul24_hi(a, b), c);
}
s32 mad24_hi_sat(s32 a, s32 b, s32 c) { return saturate(s64{mul24_hi(a, b)} + c); }

template <std::integral T>
T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}
template <std::signed_integral T>
T neg(T a) {
  return sub(T{0}, a);
}
template <std::signed_integral T>
T abs(T a) {
  return a < 0 ? neg(a) : a;
}

/// Division by zero has an unspecified, machine-specific result (9.7.1.8). NVIDIA GPUs give all
/// ones. The least integer divided by -1 wraps.
template <std::integral T>
T div(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::signed_integral<T> && b == static_cast<T>(-1)) return sub(T{0}, a);
  return static_cast<T>(a / b);
}
/// The remainder has the sign of `a`, as on all GPUs. Division by zero: see `div`.
template <std::integral T>
T rem(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::signed_integral<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

template <std::integral T>
T min(T a, T b) {
  return std::min(a, b);
}
template <std::integral T>
T max(T a, T b) {
  return std::max(a, b);
}
template <std::signed_integral T>
T min_relu(T a, T b) {
  return std::max(T{0}, std::min(a, b));
}
template <std::signed_integral T>
T max_relu(T a, T b) {
  return std::max(T{0}, std::max(a, b));
}

/// Applies F to both halves of words.
template <auto F, std::integral T>
b32 each_half(b32 a, b32 b) {
  const auto low = static_cast<u16>(F(static_cast<T>(a), static_cast<T>(b)));
  const auto high = static_cast<u16>(F(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return u32{high} << 16 | low;
}

/// a + b + carry. The carry is that of the unsigned sum, also for signed types (9.7.2.1).
template <std::integral T>
WithCarry<T> add_carry(T a, T b, bool carry) {
  using U = std::make_unsigned_t<T>;
  const Double<U> sum = Double<U>(static_cast<U>(a)) + static_cast<U>(b) + U{carry};
  return {.value = static_cast<T>(sum), .carry = (sum >> kBits<U>) != 0};
}
/// a - (b + borrow). CC.CF is the borrow (9.7.2.3).
template <std::integral T>
WithCarry<T> sub_borrow(T a, T b, bool borrow) {
  using U = std::make_unsigned_t<T>;
  const Double<U> difference = Double<U>(static_cast<U>(a)) - static_cast<U>(b) - U{borrow};
  return {.value = static_cast<T>(difference), .carry = (difference >> kBits<U>) != 0};
}
template <std::integral T>
WithCarry<T> add_cc(T a, T b) {
  return add_carry(a, b, false);
}
template <std::integral T>
WithCarry<T> addc_cc(CarryIn carry, T a, T b) {
  return add_carry(a, b, carry.value);
}
template <std::integral T>
T addc(CarryIn carry, T a, T b) {
  return add_carry(a, b, carry.value).value;
}
template <std::integral T>
WithCarry<T> sub_cc(T a, T b) {
  return sub_borrow(a, b, false);
}
template <std::integral T>
WithCarry<T> subc_cc(CarryIn borrow, T a, T b) {
  return sub_borrow(a, b, borrow.value);
}
template <std::integral T>
T subc(CarryIn borrow, T a, T b) {
  return sub_borrow(a, b, borrow.value).value;
}
template <std::integral T>
WithCarry<T> mad_lo_cc(T a, T b, T c) {
  return add_carry(mul_lo(a, b), c, false);
}
template <std::integral T>
WithCarry<T> mad_hi_cc(T a, T b, T c) {
  return add_carry(mul_hi(a, b), c, false);
}
template <std::integral T>
WithCarry<T> madc_lo_cc(CarryIn carry, T a, T b, T c) {
  return add_carry(mul_lo(a, b), c, carry.value);
}
template <std::integral T>
WithCarry<T> madc_hi_cc(CarryIn carry, T a, T b, T c) {
  return add_carry(mul_hi(a, b), c, carry.value);
}
template <std::integral T>
T madc_lo(CarryIn carry, T a, T b, T c) {
  return madc_lo_cc(carry, a, b, c).value;
}
template <std::integral T>
T madc_hi(CarryIn carry, T a, T b, T c) {
  return madc_hi_cc(carry, a, b, c).value;
}

/// The part of a word at a bit, extended to 32 bits as its type says; it wraps like the sums.
template <std::integral Part>
u32 part(b32 word, int bit) {
  return static_cast<u32>(static_cast<s32>(static_cast<Part>(word >> bit)));
}
template <std::integral A, std::integral B>
u32 dp4a(b32 a, b32 b, u32 c) {
  for (int bit = 0; bit < 32; bit += 8) c += part<A>(a, bit) * part<B>(b, bit);
  return c;
}
template <std::integral A, std::integral B, int kFirstBit>
u32 dp2a(b32 a, b32 b, u32 c) {
  return c + part<A>(a, 0) * part<B>(b, kFirstBit) + part<A>(a, 16) * part<B>(b, kFirstBit + 8);
}
using u8 = std::uint8_t;
using s8 = std::int8_t;

constexpr Semantics kRows[] = {
    lanewise<add<u16>>("add.u16", "9.7.1.1"),
    lanewise<add<s16>>("add.s16", "9.7.1.1"),
    lanewise<add<u32>>("add.u32", "9.7.1.1"),
    lanewise<add<s32>>("add.s32", "9.7.1.1"),
    lanewise<add<u64>>("add.u64", "9.7.1.1"),
    lanewise<add<s64>>("add.s64", "9.7.1.1"),
    lanewise<add_sat>("add.sat.s32", "9.7.1.1"),
    lanewise<each_half<add<u16>, u16>>("add.u16x2", "9.7.1.1"),
    lanewise<each_half<add<s16>, s16>>("add.s16x2", "9.7.1.1"),
    lanewise<sub<u16>>("sub.u16", "9.7.1.2"),
    lanewise<sub<s16>>("sub.s16", "9.7.1.2"),
    lanewise<sub<u32>>("sub.u32", "9.7.1.2"),
    lanewise<sub<s32>>("sub.s32", "9.7.1.2"),
    lanewise<sub<u64>>("sub.u64", "9.7.1.2"),
    lanewise<sub<s64>>("sub.s64", "9.7.1.2"),
    lanewise<sub_sat>("sub.sat.s32", "9.7.1.2"),
    lanewise<mul_lo<u16>>("mul.lo.u16", "9.7.1.3"),
    lanewise<mul_lo<s16>>("mul.lo.s16", "9.7.1.3"),
    lanewise<mul_lo<u32>>("mul.lo.u32", "9.7.1.3"),
    lanewise<mul_lo<s32>>("mul.lo.s32", "9.7.1.3"),
    lanewise<mul_lo<u64>>("mul.lo.u64", "9.7.1.3"),
    lanewise<mul_lo<s64>>("mul.lo.s64", "9.7.1.3"),
    lanewise<mul_hi<u16>>("mul.hi.u16", "9.7.1.3"),
    lanewise<mul_hi<s16>>("mul.hi.s16", "9.7.1.3"),
    lanewise<mul_hi<u32>>("mul.hi.u32", "9.7.1.3"),
    lanewise<mul_hi<s32>>("mul.hi.s32", "9.7.1.3"),
    lanewise<mul_hi<u64>>("mul.hi.u64", "9.7.1.3"),
    lanewise<mul_hi<s64>>("mul.hi.s64", "9.7.1.3"),
    lanewise<mul_wide<u16>>("mul.wide.u16", "9.7.1.3"),
    lanewise<mul_wide<s16>>("mul.wide.s16", "9.7.1.3"),
    lanewise<mul_wide<u32>>("mul.wide.u32", "9.7.1.3"),
    lanewise<mul_wide<s32>>("mul.wide.s32", "9.7.1.3"),
    lanewise<mad_lo<u16>>("mad.lo.u16", "9.7.1.4"),
    lanewise<mad_lo<s16>>("mad.lo.s16", "9.7.1.4"),
    lanewise<mad_lo<u32>>("mad.lo.u32", "9.7.1.4"),
    lanewise<mad_lo<s32>>("mad.lo.s32", "9.7.1.4"),
    lanewise<mad_lo<u64>>("mad.lo.u64", "9.7.1.4"),
    lanewise<mad_lo<s64>>("mad.lo.s64", "9.7.1.4"),
    lanewise<mad_hi<u16>>("mad.hi.u16", "9.7.1.4"),
    lanewise<mad_hi<s16>>("mad.hi.s16", "9.7.1.4"),
    lanewise<mad_hi<u32>>("mad.hi.u32", "9.7.1.4"),
    lanewise<mad_hi<s32>>("mad.hi.s32", "9.7.1.4"),
    lanewise<mad_hi<u64>>("mad.hi.u64", "9.7.1.4"),
    lanewise<mad_hi<s64>>("mad.hi.s64", "9.7.1.4"),
    lanewise<mad_wide<u16>>("mad.wide.u16", "9.7.1.4"),
    lanewise<mad_wide<s16>>("mad.wide.s16", "9.7.1.4"),
    lanewise<mad_wide<u32>>("mad.wide.u32", "9.7.1.4"),
    lanewise<mad_wide<s32>>("mad.wide.s32", "9.7.1.4"),
    lanewise<mad_hi_sat>("mad.hi.sat.s32", "9.7.1.4"),
    lanewise<mul24_lo<u32>>("mul24.lo.u32", "9.7.1.5"),
    lanewise<mul24_lo<s32>>("mul24.lo.s32", "9.7.1.5"),
    lanewise<mul24_hi<u32>>("mul24.hi.u32", "9.7.1.5"),
    lanewise<mul24_hi<s32>>("mul24.hi.s32", "9.7.1.5"),
    lanewise<mad24_lo<u32>>("mad24.lo.u32", "9.7.1.6"),
    lanewise<mad24_lo<s32>>("mad24.lo.s32", "9.7.1.6"),
    lanewise<mad24_hi<u32>>("mad24.hi.u32", "9.7.1.6"),
    lanewise<mad24_hi<s32>>("mad24.hi.s32", "9.7.1.6"),
    lanewise<mad24_hi_sat>("mad24.hi.sat.s32", "9.7.1.6"),
    lanewise<sad<u16>>("sad.u16", "9.7.1.7"),
    lanewise<sad<s16>>("sad.s16", "9.7.1.7"),
    lanewise<sad<u32>>("sad.u32", "9.7.1.7"),
    lanewise<sad<s32>>("sad.s32", "9.7.1.7"),
    lanewise<sad<u64>>("sad.u64", "9.7.1.7"),
    lanewise<sad<s64>>("sad.s64", "9.7.1.7"),
    lanewise<div<u16>>("div.u16", "9.7.1.8"),
    lanewise<div<s16>>("div.s16", "9.7.1.8"),
    lanewise<div<u32>>("div.u32", "9.7.1.8"),
    lanewise<div<s32>>("div.s32", "9.7.1.8"),
    lanewise<div<u64>>("div.u64", "9.7.1.8"),
    lanewise<div<s64>>("div.s64", "9.7.1.8"),
    lanewise<rem<u16>>("rem.u16", "9.7.1.9"),
    lanewise<rem<s16>>("rem.s16", "9.7.1.9"),
    lanewise<rem<u32>>("rem.u32", "9.7.1.9"),
    lanewise<rem<s32>>("rem.s32", "9.7.1.9"),
    lanewise<rem<u64>>("rem.u64", "9.7.1.9"),
    lanewise<rem<s64>>("rem.s64", "9.7.1.9"),
    lanewise<abs<s16>>("abs.s16", "9.7.1.10"),
    lanewise<abs<s32>>("abs.s32", "9.7.1.10"),
    lanewise<abs<s64>>("abs.s64", "9.7.1.10"),
    lanewise<neg<s16>>("neg.s16", "9.7.1.11"),
    lanewise<neg<s32>>("neg.s32", "9.7.1.11"),
    lanewise<neg<s64>>("neg.s64", "9.7.1.11"),
    lanewise<min<u16>>("min.u16", "9.7.1.12"),
    lanewise<min<s16>>("min.s16", "9.7.1.12"),
    lanewise<min<u32>>("min.u32", "9.7.1.12"),
    lanewise<min<s32>>("min.s32", "9.7.1.12"),
    lanewise<min<u64>>("min.u64", "9.7.1.12"),
    lanewise<min<s64>>("min.s64", "9.7.1.12"),
    lanewise<min_relu<s32>>("min.relu.s32", "9.7.1.12"),
    lanewise<each_half<min<u16>, u16>>("min.u16x2", "9.7.1.12"),
    lanewise<each_half<min<s16>, s16>>("min.s16x2", "9.7.1.12"),
    lanewise<each_half<min_relu<s16>, s16>>("min.relu.s16x2", "9.7.1.12"),
    lanewise<max<u16>>("max.u16", "9.7.1.13"),
    lanewise<max<s16>>("max.s16", "9.7.1.13"),
    lanewise<max<u32>>("max.u32", "9.7.1.13"),
    lanewise<max<s32>>("max.s32", "9.7.1.13"),
    lanewise<max<u64>>("max.u64", "9.7.1.13"),
    lanewise<max<s64>>("max.s64", "9.7.1.13"),
    lanewise<max_relu<s32>>("max.relu.s32", "9.7.1.13"),
    lanewise<each_half<max<u16>, u16>>("max.u16x2", "9.7.1.13"),
    lanewise<each_half<max<s16>, s16>>("max.s16x2", "9.7.1.13"),
    lanewise<each_half<max_relu<s16>, s16>>("max.relu.s16x2", "9.7.1.13"),
    lanewise<dp4a<u8, u8>>("dp4a.u32.u32", "9.7.1.23"),
    lanewise<dp4a<u8, s8>>("dp4a.u32.s32", "9.7.1.23"),
    lanewise<dp4a<s8, u8>>("dp4a.s32.u32", "9.7.1.23"),
    lanewise<dp4a<s8, s8>>("dp4a.s32.s32", "9.7.1.23"),
    lanewise<dp2a<u16, u8, 0>>("dp2a.lo.u32.u32", "9.7.1.24"),
    lanewise<dp2a<u16, s8, 0>>("dp2a.lo.u32.s32", "9.7.1.24"),
    lanewise<dp2a<s16, u8, 0>>("dp2a.lo.s32.u32", "9.7.1.24"),
    lanewise<dp2a<s16, s8, 0>>("dp2a.lo.s32.s32", "9.7.1.24"),
    lanewise<dp2a<u16, u8, 16>>("dp2a.hi.u32.u32", "9.7.1.24"),
    lanewise<dp2a<u16, s8, 16>>("dp2a.hi.u32.s32", "9.7.1.24"),
    lanewise<dp2a<s16, u8, 16>>("dp2a.hi.s32.u32", "9.7.1.24"),
    lanewise<dp2a<s16, s8, 16>>("dp2a.hi.s32.s32", "9.7.1.24"),
    lanewise<add_cc<u32>>("add.cc.u32", "9.7.2.1"),
    lanewise<add_cc<s32>>("add.cc.s32", "9.7.2.1"),
    lanewise<add_cc<u64>>("add.cc.u64", "9.7.2.1"),
    lanewise<add_cc<s64>>("add.cc.s64", "9.7.2.1"),
    lanewise<addc<u32>>("addc.u32", "9.7.2.2"),
    lanewise<addc<s32>>("addc.s32", "9.7.2.2"),
    lanewise<addc<u64>>("addc.u64", "9.7.2.2"),
    lanewise<addc<s64>>("addc.s64", "9.7.2.2"),
    lanewise<addc_cc<u32>>("addc.cc.u32", "9.7.2.2"),
    lanewise<addc_cc<s32>>("addc.cc.s32", "9.7.2.2"),
    lanewise<addc_cc<u64>>("addc.cc.u64", "9.7.2.2"),
    lanewise<addc_cc<s64>>("addc.cc.s64", "9.7.2.2"),
    lanewise<sub_cc<u32>>("sub.cc.u32", "9.7.2.3"),
    lanewise<sub_cc<s32>>("sub.cc.s32", "9.7.2.3"),
    lanewise<sub_cc<u64>>("sub.cc.u64", "9.7.2.3"),
    lanewise<sub_cc<s64>>("sub.cc.s64", "9.7.2.3"),
    lanewise<subc<u32>>("subc.u32", "9.7.2.4"),
    lanewise<subc<s32>>("subc.s32", "9.7.2.4"),
    lanewise<subc<u64>>("subc.u64", "9.7.2.4"),
    lanewise<subc<s64>>("subc.s64", "9.7.2.4"),
    lanewise<subc_cc<u32>>("subc.cc.u32", "9.7.2.4"),
    lanewise<subc_cc<s32>>("subc.cc.s32", "9.7.2.4"),
    lanewise<subc_cc<u64>>("subc.cc.u64", "9.7.2.4"),
    lanewise<subc_cc<s64>>("subc.cc.s64", "9.7.2.4"),
    lanewise<mad_lo_cc<u32>>("mad.lo.cc.u32", "9.7.2.5"),
    lanewise<mad_lo_cc<s32>>("mad.lo.cc.s32", "9.7.2.5"),
    lanewise<mad_lo_cc<u64>>("mad.lo.cc.u64", "9.7.2.5"),
    lanewise<mad_lo_cc<s64>>("mad.lo.cc.s64", "9.7.2.5"),
    lanewise<mad_hi_cc<u32>>("mad.hi.cc.u32", "9.7.2.5"),
    lanewise<mad_hi_cc<s32>>("mad.hi.cc.s32", "9.7.2.5"),
    lanewise<mad_hi_cc<u64>>("mad.hi.cc.u64", "9.7.2.5"),
    lanewise<mad_hi_cc<s64>>("mad.hi.cc.s64", "9.7.2.5"),
    lanewise<madc_lo<u32>>("madc.lo.u32", "9.7.2.6"),
    lanewise<madc_lo<s32>>("madc.lo.s32", "9.7.2.6"),
    lanewise<madc_lo<u64>>("madc.lo.u64", "9.7.2.6"),
    lanewise<madc_lo<s64>>("madc.lo.s64", "9.7.2.6"),
    lanewise<madc_lo_cc<u32>>("madc.lo.cc.u32", "9.7.2.6"),
    lanewise<madc_lo_cc<s32>>("madc.lo.cc.s32", "9.7.2.6"),
    lanewise<madc_lo_cc<u64>>("madc.lo.cc.u64", "9.7.2.6"),
    lanewise<madc_lo_cc<s64>>("madc.lo.cc.s64", "9.7.2.6"),
    lanewise<madc_hi<u32>>("madc.hi.u32", "9.7.2.6"),
    lanewise<madc_hi<s32>>("madc.hi.s32", "9.7.2.6"),
    lanewise<madc_hi<u64>>("madc.hi.u64", "9.7.2.6"),
    lanewise<madc_hi<s64>>("madc.hi.s64", "9.7.2.6"),
    lanewise<madc_hi_cc<u32>>("madc.hi.cc.u32", "9.7.2.6"),
    lanewise<madc_hi_cc<s32>>("madc.hi.cc.s32", "9.7.2.6"),
    lanewise<madc_hi_cc<u64>>("madc.hi.cc.u64", "9.7.2.6"),
    lanewise<madc_hi_cc<s64>>("madc.hi.cc.s64", "9.7.2.6"),
};

}  // namespace
}  // namespace integer_rows

std::span<const Semantics> integer_semantics() { return integer_rows::kRows; }

}  // namespace sinter::virtual_gpu
