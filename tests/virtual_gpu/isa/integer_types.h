// Names of the integer types of PTX, and the types in which arithmetic on them is exact or wraps.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sinter::virtual_gpu::integer_types {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using b16 = u16;
using b32 = u32;
using b64 = u64;

template <std::integral T>
inline constexpr int kBits = static_cast<int>(sizeof(T)) * 8;

/// Unsigned, and not promoted to `int` by arithmetic: its overflow is defined.
template <std::integral T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), u32, std::make_unsigned_t<T>>;

namespace detail {
__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

template <class T>
struct DoubleOf;
template <>
struct DoubleOf<u16> {
  using Type = u32;
};
template <>
struct DoubleOf<s16> {
  using Type = s32;
};
template <>
struct DoubleOf<u32> {
  using Type = u64;
};
template <>
struct DoubleOf<s32> {
  using Type = s64;
};
template <>
struct DoubleOf<u64> {
  using Type = u128;
};
template <>
struct DoubleOf<s64> {
  using Type = s128;
};
}  // namespace detail

/// The type of twice the width, which holds every product.
template <std::integral T>
using Double = typename detail::DoubleOf<T>::Type;

}  // namespace sinter::virtual_gpu::integer_types
