// Rounds integers: division that rounds up, multiples and powers of two.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace sinter {

/// ceil(what / size). Neither may be negative.
template <std::integral Number>
constexpr Number divide_up(Number what, std::type_identity_t<Number> size) {
  return (what + size - 1) / size;
}

/// The smallest multiple of `step` that is at least `value`.
template <std::integral Number>
constexpr Number round_up(Number value, std::type_identity_t<Number> step) {
  return divide_up(value, step) * step;
}

/// The largest power of two that is at most `value`, and the smallest one that is at least `value`.
/// 0 and 1 for 0. `value` must not be negative.
constexpr std::int64_t bit_floor(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}
constexpr std::int64_t bit_ceil(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

}  // namespace sinter
