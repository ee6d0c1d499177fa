// Bits: logic and shifts (section 9.7.8 of the PTX ISA manual), bit fields, prmt and mov.
#include <algorithm>
#include <array>
#include <bit>

#include "tests/virtual_gpu/isa/integer_types.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu {
namespace bit_rows {
namespace {

using namespace integer_types;

constexpr u32 kNone = 0xffffffffu;

template <class T>
T move(T a) {
  return a;
}
template <std::integral T>
T bit_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <std::integral T>
T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <std::integral T>
T bit_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <std::unsigned_integral T>
T bit_not(T a) {
  return static_cast<T>(~a);
}
bool predicate_not(bool a) { return !a; }
template <std::unsigned_integral T>
T cnot(T a) {
  return a == 0 ? 1 : 0;
}

template <std::unsigned_integral T>
T shift_left(T a, u32 amount) {
  return amount < kBits<T> ? static_cast<T>(Wrapping<T>{a} << amount) : T{0};
}
/// A clamped amount leaves the sign of signed types, and 0 otherwise.
template <std::integral T>
T shift_right(T a, u32 amount) {
  if (amount < kBits<T>) return static_cast<T>(a >> amount);
  return static_cast<T>(a < 0 ? ~T{0} : T{0});
}

u64 concatenate(b32 high, b32 low) { return u64{high} << 32 | low; }
template <bool kWraps>
u32 funnel_amount(u32 amount) {
  return kWraps ? amount & 31 : std::min(amount, 32u);
}
template <bool kWraps>
b32 funnel_left(b32 a, b32 b, u32 amount) {
  return static_cast<b32>(concatenate(b, a) << funnel_amount<kWraps>(amount) >> 32);
}
template <bool kWraps>
b32 funnel_right(b32 a, b32 b, u32 amount) {
  return static_cast<b32>(concatenate(b, a) >> funnel_amount<kWraps>(amount));
}

/// Bit i of the table is the result where the bits of a, b, c are those of the number i.
b32 lop3(b32 a, b32 b, b32 c, u32 table) {
  b32 result = 0;
  for (u32 i = 0; i < 8; ++i) {
    const b32 matches = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    result |= (table >> i) & 1 ? matches : 0;
  }
  return result;
}

b32 prmt(b32 a, b32 b, b32 selectors) {
  const u64 source = concatenate(b, a);
  b32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 selector = (selectors >> (4 * i)) & 15;
    const u32 byte = static_cast<u32>(source >> (8 * (selector & 7))) & 0xff;
    const u32 sign = byte >> 7 ? 0xff : 0;
    result |= (selector & 8 ? sign : byte) << (8 * i);
  }
  return result;
}
/// The selectors of the generic form for each value of c[1:0] (the table of section 9.7.9.7).
using PermuteMode = std::array<b32, 4>;
constexpr PermuteMode kForward4Extract = {0x3210, 0x4321, 0x5432, 0x6543};
constexpr PermuteMode kBackward4Extract = {0x5670, 0x6701, 0x7012, 0x0123};
constexpr PermuteMode kReplicate8 = {0x0000, 0x1111, 0x2222, 0x3333};
constexpr PermuteMode kEdgeClampLeft = {0x3210, 0x3211, 0x3222, 0x3333};
constexpr PermuteMode kEdgeClampRight = {0x0000, 0x1110, 0x2210, 0x3210};
constexpr PermuteMode kReplicate16 = {0x1010, 0x3232, 0x1010, 0x3232};
template <const PermuteMode& mode>
b32 prmt_mode(b32 a, b32 b, b32 c) {
  return prmt(a, b, mode[c & 3]);
}

/// The lowest `count` bits set; all if the type has fewer.
template <std::unsigned_integral T>
T low_bits(u32 count) {
  return count >= kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
}

/// Positions and lengths are their low 8 bits. Beyond the most significant bit of `a`, the field
/// continues with the sign bit: 0, or for signed types the last bit of the field.
template <std::integral T>
T bfe(T a, u32 position, u32 length) {
  using U = std::make_unsigned_t<T>;
  constexpr u32 msb = kBits<T> - 1;
  position &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const U field = position > msb ? U{0} : static_cast<U>(a) >> position;
  const u32 length_in_a = position > msb ? 0 : std::min(length, msb + 1 - position);
  const bool sign =
      std::signed_integral<T> && (static_cast<U>(a) >> std::min(position + length - 1, msb) & 1);
  const U mask = low_bits<U>(length_in_a);
  return static_cast<T>((field & mask) | (sign ? ~mask : U{0}));
}
template <std::unsigned_integral T>
T bfi(T a, T b, u32 position, u32 length) {
  position &= 0xff;
  if (position >= kBits<T>) return b;
  const T mask = low_bits<T>(length & 0xff) << position;
  return (b & ~mask) | ((a << position) & mask);
}

template <std::integral T>
u32 bfind(T a) {
  using U = std::make_unsigned_t<T>;
  const U bits = static_cast<U>(a < 0 ? ~a : a);
  return bits == 0 ? kNone : static_cast<u32>(std::bit_width(bits)) - 1;
}
template <std::integral T>
u32 bfind_shiftamt(T a) {
  const u32 position = bfind(a);
  return position == kNone ? kNone : kBits<T> - 1 - position;
}
template <std::unsigned_integral T>
u32 popc(T a) {
  return static_cast<u32>(std::popcount(a));
}
template <std::unsigned_integral T>
u32 clz(T a) {
  return static_cast<u32>(std::countl_zero(a));
}
b32 brev_32(b32 a) {
  a = (a & 0x55555555u) << 1 | (a >> 1 & 0x55555555u);
  a = (a & 0x33333333u) << 2 | (a >> 2 & 0x33333333u);
  a = (a & 0x0f0f0f0fu) << 4 | (a >> 4 & 0x0f0f0f0fu);
  return a << 24 | (a & 0xff00u) << 8 | (a >> 8 & 0xff00u) | a >> 24;
}
b64 brev_64(b64 a) {
  return concatenate(brev_32(static_cast<b32>(a)), brev_32(static_cast<b32>(a >> 32)));
}

/// The n-th set bit from `base` on, upwards or downwards (n = |offset|). The manual leaves a `base`
/// above 31 undefined; no bit is found there.
u32 fns(b32 mask, u32 base, s32 offset) {
  const s64 step = offset < 0 ? -1 : 1;
  s64 missing = offset < 0 ? -s64{offset} : std::max(s64{1}, s64{offset});
  for (s64 i = base; i >= 0 && i < 32; i += step) {
    if ((mask >> i & 1) && --missing == 0) return static_cast<u32>(i);
    if (offset == 0) break;
  }
  return kNone;
}

/// `length` set bits from `position` on.
template <bool kWraps>
b32 bmsk(u32 position, u32 length) {
  if (kWraps) {
    position &= 31;
    length &= 31;
  }
  return position >= 32 ? 0 : low_bits<b32>(length) << position;
}

/// The low `bits` bits of `a`, extended to 32 bits.
template <std::integral T, bool kWraps>
T szext(T a, u32 bits) {
  if (kWraps) bits &= 31;
  if (bits == 0) return 0;
  if (bits >= 32) return a;
  const u32 unused = 32 - bits;
  return static_cast<T>(static_cast<u32>(a) << unused) >> unused;
}

constexpr Semantics kRows[] = {
    lanewise<bit_and<bool>>("and.pred", "9.7.8.1"),
    lanewise<bit_and<b16>>("and.b16", "9.7.8.1"),
    lanewise<bit_and<b32>>("and.b32", "9.7.8.1"),
    lanewise<bit_and<b64>>("and.b64", "9.7.8.1"),
    lanewise<bit_or<bool>>("or.pred", "9.7.8.2"),
    lanewise<bit_or<b16>>("or.b16", "9.7.8.2"),
    lanewise<bit_or<b32>>("or.b32", "9.7.8.2"),
    lanewise<bit_or<b64>>("or.b64", "9.7.8.2"),
    lanewise<bit_xor<bool>>("xor.pred", "9.7.8.3"),
    lanewise<bit_xor<b16>>("xor.b16", "9.7.8.3"),
    lanewise<bit_xor<b32>>("xor.b32", "9.7.8.3"),
    lanewise<bit_xor<b64>>("xor.b64", "9.7.8.3"),
    lanewise<predicate_not>("not.pred", "9.7.8.4"),
    lanewise<bit_not<b16>>("not.b16", "9.7.8.4"),
    lanewise<bit_not<b32>>("not.b32", "9.7.8.4"),
    lanewise<bit_not<b64>>("not.b64", "9.7.8.4"),
    lanewise<cnot<b16>>("cnot.b16", "9.7.8.5"),
    lanewise<cnot<b32>>("cnot.b32", "9.7.8.5"),
    lanewise<cnot<b64>>("cnot.b64", "9.7.8.5"),
    lanewise<lop3>("lop3.b32", "9.7.8.6"),
    lanewise<funnel_left<true>>("shf.l.wrap.b32", "9.7.8.7"),
    lanewise<funnel_left<false>>("shf.l.clamp.b32", "9.7.8.7"),
    lanewise<funnel_right<true>>("shf.r.wrap.b32", "9.7.8.7"),
    lanewise<funnel_right<false>>("shf.r.clamp.b32", "9.7.8.7"),
    lanewise<shift_left<b16>>("shl.b16", "9.7.8.8"),
    lanewise<shift_left<b32>>("shl.b32", "9.7.8.8"),
    lanewise<shift_left<b64>>("shl.b64", "9.7.8.8"),
    lanewise<shift_right<b16>>("shr.b16", "9.7.8.9"),
    lanewise<shift_right<b32>>("shr.b32", "9.7.8.9"),
    lanewise<shift_right<b64>>("shr.b64", "9.7.8.9"),
    lanewise<shift_right<u16>>("shr.u16", "9.7.8.9"),
    lanewise<shift_right<u32>>("shr.u32", "9.7.8.9"),
    lanewise<shift_right<u64>>("shr.u64", "9.7.8.9"),
    lanewise<shift_right<s16>>("shr.s16", "9.7.8.9"),
    lanewise<shift_right<s32>>("shr.s32", "9.7.8.9"),
    lanewise<shift_right<s64>>("shr.s64", "9.7.8.9"),
    lanewise<prmt>("prmt.b32", "9.7.9.7"),
    lanewise<prmt_mode<kForward4Extract>>("prmt.b32.f4e", "9.7.9.7"),
    lanewise<prmt_mode<kBackward4Extract>>("prmt.b32.b4e", "9.7.9.7"),
    lanewise<prmt_mode<kReplicate8>>("prmt.b32.rc8", "9.7.9.7"),
    lanewise<prmt_mode<kEdgeClampLeft>>("prmt.b32.ecl", "9.7.9.7"),
    lanewise<prmt_mode<kEdgeClampRight>>("prmt.b32.ecr", "9.7.9.7"),
    lanewise<prmt_mode<kReplicate16>>("prmt.b32.rc16", "9.7.9.7"),
    lanewise<popc<b32>>("popc.b32", "9.7.1.14"),
    lanewise<popc<b64>>("popc.b64", "9.7.1.14"),
    lanewise<clz<b32>>("clz.b32", "9.7.1.15"),
    lanewise<clz<b64>>("clz.b64", "9.7.1.15"),
    lanewise<bfind<u32>>("bfind.u32", "9.7.1.16"),
    lanewise<bfind<s32>>("bfind.s32", "9.7.1.16"),
    lanewise<bfind<u64>>("bfind.u64", "9.7.1.16"),
    lanewise<bfind<s64>>("bfind.s64", "9.7.1.16"),
    lanewise<bfind_shiftamt<u32>>("bfind.shiftamt.u32", "9.7.1.16"),
    lanewise<bfind_shiftamt<s32>>("bfind.shiftamt.s32", "9.7.1.16"),
    lanewise<bfind_shiftamt<u64>>("bfind.shiftamt.u64", "9.7.1.16"),
    lanewise<bfind_shiftamt<s64>>("bfind.shiftamt.s64", "9.7.1.16"),
    lanewise<fns>("fns.b32", "9.7.1.17"),
    lanewise<brev_32>("brev.b32", "9.7.1.18"),
    lanewise<brev_64>("brev.b64", "9.7.1.18"),
    lanewise<bfe<u32>>("bfe.u32", "9.7.1.19"),
    lanewise<bfe<s32>>("bfe.s32", "9.7.1.19"),
    lanewise<bfe<u64>>("bfe.u64", "9.7.1.19"),
    lanewise<bfe<s64>>("bfe.s64", "9.7.1.19"),
    lanewise<bfi<b32>>("bfi.b32", "9.7.1.20"),
    lanewise<bfi<b64>>("bfi.b64", "9.7.1.20"),
    lanewise<szext<u32, true>>("szext.wrap.u32", "9.7.1.21"),
    lanewise<szext<s32, true>>("szext.wrap.s32", "9.7.1.21"),
    lanewise<szext<u32, false>>("szext.clamp.u32", "9.7.1.21"),
    lanewise<szext<s32, false>>("szext.clamp.s32", "9.7.1.21"),
    lanewise<bmsk<true>>("bmsk.wrap.b32", "9.7.1.22"),
    lanewise<bmsk<false>>("bmsk.clamp.b32", "9.7.1.22"),
    lanewise<move<bool>>("mov.pred", "9.7.9.3"),
    lanewise<move<b16>>("mov.b16", "9.7.9.3"),
    lanewise<move<b32>>("mov.b32", "9.7.9.3"),
    lanewise<move<b64>>("mov.b64", "9.7.9.3"),
    lanewise<move<b16>>("mov.u16", "9.7.9.3"),
    lanewise<move<b32>>("mov.u32", "9.7.9.3"),
    lanewise<move<b64>>("mov.u64", "9.7.9.3"),
    lanewise<move<b16>>("mov.s16", "9.7.9.3"),
    lanewise<move<b32>>("mov.s32", "9.7.9.3"),
    lanewise<move<b64>>("mov.s64", "9.7.9.3"),
    lanewise<move<b32>>("mov.f32", "9.7.9.3"),
    lanewise<move<b64>>("mov.f64", "9.7.9.3"),
};

}  // namespace
}  // namespace bit_rows

std::span<const Semantics> bit_semantics() { return bit_rows::kRows; }

}  // namespace sinter::virtual_gpu
