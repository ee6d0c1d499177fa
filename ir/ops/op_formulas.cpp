// The formulas of ops in long double and in 128-bit integers.
#include "ir/ops/op_formulas.h"

#include <math.h>  // NOLINT: lgammal_r is POSIX's

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace sinter::op_formulas {

long double maximum(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nanl("");
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

long double minimum(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nanl("");
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

long double larger_number(long double a, long double b) {
  if (std::isnan(a)) return b;
  return std::isnan(b) ? a : maximum(a, b);
}

long double smaller_number(long double a, long double b) {
  if (std::isnan(a)) return b;
  return std::isnan(b) ? a : minimum(a, b);
}

long double sign(long double a) {
  if (a > 0) return 1;
  return a < 0 ? -1 : a;
}

long double round_to_even(long double a) {
  const long double below = std::floor(a);
  const long double rest = a - below;
  if (rest == 0 || std::isnan(rest)) return a;
  const bool is_below_even = std::fmod(below, 2.0L) == 0;
  const bool goes_down = rest < 0.5L || (rest == 0.5L && is_below_even);
  return std::copysign(goes_down ? below : below + 1, a);
}

long double log_gamma(long double a) {
  int sign_of_gamma = 0;  // lgammal writes it to a global variable
  return ::lgammal_r(a, &sign_of_gamma);
}

long double next_after(long double a, long double b, DType dtype) {
  if (std::isnan(a) || std::isnan(b)) return std::nanl("");
  if (dtype == f32) return std::nextafter(static_cast<float>(a), static_cast<float>(b));
  return std::nextafter(static_cast<double>(a), static_cast<double>(b));
}

long double floor_div(long double a, long double b) {
  const long double rest = std::fmod(a, b);
  if (std::isnan(rest) || b == 0) return a / b;
  if (std::isinf(b)) return rest != 0 && (rest < 0) != (b < 0) ? -1.0L : a / b;
  const bool crosses = rest != 0 && (rest < 0) != (b < 0);
  return std::round((a - rest) / b) - (crosses ? 1 : 0);
}

long double floor_remainder(long double a, long double b) {
  const long double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0L, b);
  return (rest < 0) == (b < 0) ? rest : rest + b;
}

Wide floor_div(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Wide floor_remainder(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

namespace {

std::uint64_t low_bits(Wide a, int bits) {
  const auto all = static_cast<std::uint64_t>(a);
  return bits == 64 ? all : all & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

Wide population_count(Wide a, int bits) { return std::popcount(low_bits(a, bits)); }

Wide leading_zeros(Wide a, int bits) { return std::countl_zero(low_bits(a, bits)) - (64 - bits); }

Wide shift_left(Wide a, Wide by, int bits) {
  if (by < 0 || by >= bits) return 0;
  return static_cast<Wide>(static_cast<UnsignedWide>(a) << static_cast<int>(by));
}

Wide shift_right(Wide a, Wide by, int bits) {
  if (by < 0 || by >= bits) return a < 0 ? -1 : 0;
  return a >> static_cast<int>(by);
}

// Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
Wide philox(Wide seed, Wide offset, Wide index) {
  const auto key = static_cast<std::uint64_t>(seed);
  const auto high = static_cast<std::uint64_t>(offset);
  const std::uint64_t low = static_cast<std::uint64_t>(index / 4);
  std::array<std::uint64_t, 4> counter = {low & 0xffffffff, low >> 32, high & 0xffffffff,
                                          high >> 32};
  std::array<std::uint32_t, 2> keys = {static_cast<std::uint32_t>(key),
                                       static_cast<std::uint32_t>(key >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = counter[0] * 0xD2511F53;
    const std::uint64_t second = counter[2] * 0xCD9E8D57;
    counter = {(second >> 32) ^ counter[1] ^ keys[0], second & 0xffffffff,
               (first >> 32) ^ counter[3] ^ keys[1], first & 0xffffffff};
    keys[0] += 0x9E3779B9;
    keys[1] += 0xBB67AE85;
  }
  return static_cast<Wide>(counter[static_cast<std::size_t>(index & 3)]);
}

}  // namespace sinter::op_formulas
