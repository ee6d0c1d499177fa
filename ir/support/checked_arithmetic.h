// Arithmetic of sizes that must not wrap: those of a saved file may be anything.
#pragma once

#include <cstdint>

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

/// Throws UserError where the sum does not fit in 64 bits.
inline std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    throw UserError(fmt::format("a size of {} + {} does not fit in 64 bits", a, b));
  return sum;
}

/// Throws UserError where the product does not fit in 64 bits.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    throw UserError(fmt::format("a size of {} * {} does not fit in 64 bits", a, b));
  return product;
}

/// The first multiple of `step` that is no less than `value`, which is not negative.
inline std::int64_t checked_round_up(std::int64_t value, std::int64_t step) {
  return checked_sum(value, step - 1) / step * step;
}

}  // namespace sinter
