// Arithmetic of sizes that throws on overflow. A saved file may contain any sizes.
#pragma once

#include <cstdint>

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

/// a + b. Throws UserError if the sum does not fit in 64 bits.
inline std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    throw UserError(fmt::format("a size of {} + {} does not fit in 64 bits", a, b));
  return sum;
}

/// a * b. Throws UserError if the product does not fit in 64 bits.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    throw UserError(fmt::format("a size of {} * {} does not fit in 64 bits", a, b));
  return product;
}

/// The smallest multiple of `step` that is at least `value`, which must not be negative. Throws
/// UserError on overflow.
inline std::int64_t checked_round_up(std::int64_t value, std::int64_t step) {
  return checked_sum(value, step - 1) / step * step;
}

}  // namespace sinter
