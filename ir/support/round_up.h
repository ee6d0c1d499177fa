// Whole numbers in steps of a size.
#pragma once

#include <concepts>
#include <type_traits>

namespace sinter {

/// How many steps of `size` cover `what`; neither is negative.
template <std::integral Number>
constexpr Number divide_up(Number what, std::type_identity_t<Number> size) {
  return (what + size - 1) / size;
}

/// The first multiple of `step` that is no less than `value`.
template <std::integral Number>
constexpr Number round_up(Number value, std::type_identity_t<Number> step) {
  return divide_up(value, step) * step;
}

}  // namespace sinter
