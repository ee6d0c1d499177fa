// An oracle for the float formats in tests of isa/: values as long doubles, and rounding by
// division through the unit of the last place. It shares no code with the instructions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::virtual_gpu::float_oracle {

static_assert(std::numeric_limits<long double>::digits >= 64, "u64 must be exact in long double");

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  std::uint64_t sign() const { return std::uint64_t{1} << (bits() - 1); }
  int smallest_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
  std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  bool is_nan(std::uint64_t value) const { return (value & (sign() - 1)) > infinity(); }
  bool is_subnormal(std::uint64_t value) const {
    return (value & infinity()) == 0 && (value & (sign() - 1)) != 0;
  }
};
inline constexpr Format kHalf{5, 10}, kBfloat{8, 7}, kSingle{8, 23}, kDouble{11, 52};

inline long double value_of(const Format& format, std::uint64_t bits) {
  const std::uint64_t magnitude = bits & (format.sign() - 1);
  const long double sign = bits & format.sign() ? -1 : 1;
  if (magnitude > format.infinity()) return NAN;
  if (magnitude == format.infinity()) return sign * INFINITY;
  const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint64_t one = std::uint64_t{1} << format.mantissa_bits;
  const std::uint64_t mantissa = (magnitude & (one - 1)) + (exponent > 0 ? one : 0);
  const int place = format.smallest_exponent() + std::max(exponent, 1) - 1 - format.mantissa_bits;
  return sign * std::ldexp(static_cast<long double>(mantissa), place);
}

/// An integer next to the value, by the name of a rounding: `rn`, `rzi`, …
inline long double integer_near(long double value, std::string_view rounding) {
  if (rounding.starts_with("rz")) return std::trunc(value);
  if (rounding.starts_with("rm")) return std::floor(value);
  if (rounding.starts_with("rp")) return std::ceil(value);
  return std::nearbyint(value);
}

/// The encoding of an exact value, rounded to the format.
inline std::uint64_t round_to(const Format& format, long double value, std::string_view rounding) {
  const std::uint64_t sign = std::signbit(value) ? format.sign() : 0;
  if (std::isinf(value)) return sign | format.infinity();
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), format.smallest_exponent());
  const long double units =
      std::fabs(integer_near(std::ldexp(value, format.mantissa_bits - exponent), rounding));
  // A carry to the next exponent is the carry of this addition.
  const std::uint64_t magnitude =
      static_cast<std::uint64_t>(units) +
      (static_cast<std::uint64_t>(exponent - format.smallest_exponent()) << format.mantissa_bits);
  if (magnitude < format.infinity()) return sign | magnitude;
  const bool is_inward = rounding == "rz" || rounding == (sign ? "rp" : "rm");
  return sign | (is_inward ? format.infinity() - 1 : format.infinity());
}

/// An opcode without the modifiers that change a rounded result, and whether it had them.
struct PlainOpcode {
  std::string text;
  bool ftz = false, sat = false, relu = false;
  bool is_changed() const { return ftz || sat || relu; }
};
inline PlainOpcode without_modifiers(std::string_view opcode) {
  PlainOpcode result{.text = std::string(opcode)};
  const auto remove = [&](std::string_view modifier) {
    const std::size_t at = result.text.find(modifier);
    if (at == std::string::npos) return false;
    result.text.erase(at, modifier.size());
    return true;
  };
  result.ftz = remove(".ftz");
  result.sat = remove(".sat");
  result.relu = remove(".relu");
  return result;
}

/// The effect of the removed modifiers on a result of the plain opcode. `one` is the encoding of 1.
inline std::uint64_t with_modifiers(const Format& format, const PlainOpcode& opcode,
                                    std::uint64_t result, std::uint64_t one) {
  if (opcode.ftz && format.is_subnormal(result)) result &= format.sign();
  if (format.is_nan(result)) return opcode.sat ? 0 : result;
  if ((opcode.sat || opcode.relu) && (result & format.sign())) return 0;
  return opcode.sat ? std::min(result, one) : result;
}

/// Zeros, subnormals, ones, halves, numbers around powers of two, infinities and NaNs of both
/// signs.
inline std::vector<std::uint64_t> special_values(const Format& format) {
  const std::uint64_t one_place = std::uint64_t{1} << format.mantissa_bits;
  std::vector<std::uint64_t> magnitudes = {0,
                                           1,
                                           2,
                                           3,
                                           one_place - 1,
                                           one_place,
                                           one_place + 1,
                                           2 * one_place,
                                           format.infinity() - 1,
                                           format.infinity() - one_place,
                                           format.infinity(),
                                           format.infinity() + 1,
                                           format.infinity() + one_place / 2,
                                           format.sign() - 1};
  for (const int exponent : {-25, -14, -1, 0, 1, 2, 7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 100}) {
    const int biased = exponent - format.smallest_exponent() + 1;
    if (biased < 1 || biased >= (1 << format.exponent_bits) - 1) continue;
    const std::uint64_t power = static_cast<std::uint64_t>(biased) << format.mantissa_bits;
    for (const std::uint64_t rest : {std::uint64_t{0}, std::uint64_t{1}, one_place / 2,
                                     one_place / 2 + one_place / 4, one_place - 1})
      magnitudes.push_back(power + rest);
    magnitudes.push_back(power - 1);
  }
  std::vector<std::uint64_t> values;
  for (const std::uint64_t magnitude : magnitudes)
    for (const std::uint64_t sign : {std::uint64_t{0}, format.sign()})
      values.push_back(sign | magnitude);
  return values;
}

inline std::vector<std::uint64_t> random_values(const Format& format, int count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(random() & (2 * format.sign() - 1));
  return values;
}

}  // namespace sinter::virtual_gpu::float_oracle
