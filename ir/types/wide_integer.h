// Integers wide enough for every value of every integer dtype, and how 64-bit storage holds them.
#pragma once

#include "sinter/dtype.h"
#include "sinter/graph.h"

#include <cstdint>
#include <limits>
#include <string>

namespace sinter {

/// Holds i64 and u64 alike, and the sums of two of them.
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/// An integer as it is kept in 64 bits: those of u64 beyond 2^63 - 1 look negative there.
constexpr std::int64_t to_stored(Wide value) { return static_cast<std::int64_t>(value); }
constexpr Wide from_stored(DType dtype, std::int64_t stored) {
  if (dtype == u64) return static_cast<std::uint64_t>(stored);
  return stored;
}

/// The integer that a literal of no real kind is.
constexpr Wide integer_of(const Literal& literal) {
  if (literal.kind == Literal::Kind::natural) return static_cast<std::uint64_t>(literal.integer);
  return literal.integer;
}
/// The literal of an integer that has 64 bits.
constexpr Literal integer_literal(Wide value) {
  const bool is_large = value > std::numeric_limits<std::int64_t>::max();
  return {.kind = is_large ? Literal::Kind::natural : Literal::Kind::integer,
          .integer = to_stored(value),
          .real = 0};
}
/// The same, with the kind that constants of an integer dtype or bool have.
constexpr Literal integer_literal(Wide value, DType dtype) {
  if (dtype != boolean) return integer_literal(value);
  return {.kind = Literal::Kind::boolean, .integer = to_stored(value), .real = 0};
}

/// The digits of a literal of no real kind.
std::string whole_text(const Literal& literal);

/// The product modulo 2^128.
constexpr Wide wrapping_mul(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
}

}  // namespace sinter
