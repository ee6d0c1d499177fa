// 128-bit integers, which hold all values of all integer dtypes, and their 64-bit storage form.
#pragma once

#include "sinter/dtype.h"
#include "sinter/graph.h"

#include <cstdint>
#include <limits>

namespace sinter {

/// Holds the values of i64 and u64, and sums of two of them.
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/// The 64-bit storage form of an integer. Values of u64 beyond 2^63 - 1 are negative in it.
constexpr std::int64_t to_storage_bits(Wide value) { return static_cast<std::int64_t>(value); }
constexpr Wide from_storage_bits(DType dtype, std::int64_t bits) {
  if (dtype == u64) return static_cast<std::uint64_t>(bits);
  return bits;
}

/// The value of a literal that is not real.
constexpr Wide integer_of(const Literal& literal) {
  if (literal.kind == Literal::Kind::large_integer)
    return static_cast<std::uint64_t>(literal.integer);
  return literal.integer;
}
/// The literal of an integer that fits in i64 or u64.
constexpr Literal integer_literal(Wide value) {
  const bool is_large = value > std::numeric_limits<std::int64_t>::max();
  return {.kind = is_large ? Literal::Kind::large_integer : Literal::Kind::integer,
          .integer = to_storage_bits(value),
          .real = 0};
}
/// The literal with the kind of constants of `dtype`, an integer dtype or bool.
constexpr Literal integer_literal(Wide value, DType dtype) {
  if (dtype != boolean) return integer_literal(value);
  return {.kind = Literal::Kind::boolean, .integer = to_storage_bits(value), .real = 0};
}

/// The product modulo 2^128.
constexpr Wide wrapping_mul(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
}

}  // namespace sinter
