// Approximate instructions: the documented bound of each error, and results within the bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>

#include "tests/virtual_gpu/isa/lane_state.h"

namespace sinter::virtual_gpu {

/// The format of a result. Its values fit a double.
struct ResultFormat {
  int precision;  ///< bits of the significand, the leading one included
  int min_exponent;
  int max_exponent;
};
inline constexpr ResultFormat kF32Result = {
    .precision = 24, .min_exponent = -126, .max_exponent = 127};
inline constexpr ResultFormat kF16Result = {
    .precision = 11, .min_exponent = -14, .max_exponent = 15};
inline constexpr ResultFormat kBf16Result = {
    .precision = 8, .min_exponent = -126, .max_exponent = 127};
inline constexpr ResultFormat kF64Result = {
    .precision = 53, .min_exponent = -1022, .max_exponent = 1023};
/// The upper word of an f64: the manual calls it the 1.11.20 format.
inline constexpr ResultFormat kF64HighResult = {
    .precision = 21, .min_exponent = -1022, .max_exponent = 1023};

enum class ErrorKind : std::uint8_t {
  ulp,             ///< units in the last place of the exact value
  ulp_of_rounded,  ///< units in the last place, from the correctly rounded value
  relative,
  absolute,
  none,  ///< no guarantee: any value of at most this magnitude
};

/// How far the result of an instruction may be from the exact value.
struct ErrorBound {
  std::string_view opcode = {};      ///< without `.ftz`; empty if `.ftz` is required
  std::string_view ftz_opcode = {};  ///< with `.ftz`; empty if it does not exist
  std::string_view section = {};     ///< of the PTX ISA manual
  ResultFormat format;
  ErrorKind kind;
  double bound;
  /// The inclusive range of the magnitude of the operand; of the divisor for a division.
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

namespace approximations_detail {

inline constexpr double kTwoPi = 0x1.921fb54442d18p+2;
inline constexpr double kHundredPi = 0x1.3a28c59d5433bp+8;

}  // namespace approximations_detail

/// The bounds of the manual, sections 9.7.3 and 9.7.4 (PTX ISA 9.1). The rows of an instruction are
/// consecutive; the first row that contains the operand applies.
///
/// The manual gives no bound for these instructions, so this table sets one:
/// - rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 are "gross approximations": 1 ulp of 1.11.20.
/// - rsqrt.approx.f64 is emulated in software: 1 ulp, as the CUDA C++ Programming Guide documents
///   for rsqrt().
/// - div.approx.f32 by a subnormal number: 2 ulp, as for normal divisors.
/// - sin and cos beyond 100 pi have no guarantee: any value of [-1, 1].
///
/// One row is stricter than the manual. The CUDA C++ Programming Guide bounds expf() by 2 ulp,
/// which scales a result of ex2.approx.ftz.f32 for an operand of at most 1. Its argument has an
/// error of its own, so the instruction may be off by 1 ulp there.
inline constexpr ErrorBound kErrorBounds[] = {
    {"div.approx.f32", "div.approx.ftz.f32", "9.7.3.8", kF32Result, ErrorKind::ulp, 2, 0x1p-126,
     0x1p126},
    {"div.approx.f32", "", "9.7.3.8", kF32Result, ErrorKind::ulp, 2, 0, 0x1p-126},
    {"div.full.f32", "div.full.ftz.f32", "9.7.3.8", kF32Result, ErrorKind::ulp, 2},
    {"rcp.approx.f32", "rcp.approx.ftz.f32", "9.7.3.13", kF32Result, ErrorKind::ulp, 1},
    {"", "rcp.approx.ftz.f64", "9.7.3.14", kF64HighResult, ErrorKind::ulp, 1},
    {"sqrt.approx.f32", "sqrt.approx.ftz.f32", "9.7.3.15", kF32Result, ErrorKind::relative,
     0x1p-23},
    {"rsqrt.approx.f32", "rsqrt.approx.ftz.f32", "9.7.3.16", kF32Result, ErrorKind::relative,
     0x1.125fbee250664p-23},  // 2^-22.9
    {"rsqrt.approx.f64", "", "9.7.3.16", kF64Result, ErrorKind::ulp, 1},
    {"", "rsqrt.approx.ftz.f64", "9.7.3.17", kF64HighResult, ErrorKind::ulp, 1},
    {"sin.approx.f32", "sin.approx.ftz.f32", "9.7.3.18", kF32Result, ErrorKind::absolute,
     0x1.6a09e667f3bccp-21,  // 2^-20.5
     0, approximations_detail::kTwoPi},
    {"sin.approx.f32", "sin.approx.ftz.f32", "9.7.3.18", kF32Result, ErrorKind::absolute,
     0x1.3b2c47bff8328p-15,  // 2^-14.7
     0, approximations_detail::kHundredPi},
    {"sin.approx.f32", "sin.approx.ftz.f32", "9.7.3.18", kF32Result, ErrorKind::none, 1},
    {"cos.approx.f32", "cos.approx.ftz.f32", "9.7.3.19", kF32Result, ErrorKind::absolute,
     0x1.6a09e667f3bccp-21,  // 2^-20.5
     0, approximations_detail::kTwoPi},
    {"cos.approx.f32", "cos.approx.ftz.f32", "9.7.3.19", kF32Result, ErrorKind::absolute,
     0x1.3b2c47bff8328p-15,  // 2^-14.7
     0, approximations_detail::kHundredPi},
    {"cos.approx.f32", "cos.approx.ftz.f32", "9.7.3.19", kF32Result, ErrorKind::none, 1},
    // The interval (0.5, 2) is open: its ends are the neighbours of 0.5 and 2 in f32.
    {"lg2.approx.f32", "lg2.approx.ftz.f32", "9.7.3.20", kF32Result, ErrorKind::absolute, 0x1p-22,
     0x1.000002p-1, 0x1.fffffep0},
    {"lg2.approx.f32", "lg2.approx.ftz.f32", "9.7.3.20", kF32Result, ErrorKind::relative, 0x1p-22},
    {"ex2.approx.f32", "ex2.approx.ftz.f32", "9.7.3.21", kF32Result, ErrorKind::ulp_of_rounded, 1,
     0, 1},
    {"ex2.approx.f32", "ex2.approx.ftz.f32", "9.7.3.21", kF32Result, ErrorKind::ulp_of_rounded, 2},
    {"tanh.approx.f32", "", "9.7.3.22", kF32Result, ErrorKind::relative, 0x1p-11},
    {"tanh.approx.f16", "", "9.7.4.9", kF16Result, ErrorKind::absolute,
     0x1.0251353756990p-11},  // 2^-10.987
    {"tanh.approx.bf16", "", "9.7.4.9", kBf16Result, ErrorKind::absolute, 0x1p-8},
    {"ex2.approx.f16", "", "9.7.4.10", kF16Result, ErrorKind::relative,
     0x1.125fbee250664p-10},  // 2^-9.9
    {"", "ex2.approx.ftz.bf16", "9.7.4.10", kBf16Result, ErrorKind::relative, 0x1p-7},
};

/// The rows of an instruction, and a number that represents its name in hashes.
struct ApproximateInstruction {
  std::span<const ErrorBound> bounds;
  std::uint64_t key;

  constexpr std::string_view section() const { return bounds[0].section; }
  constexpr const ResultFormat& format() const { return bounds[0].format; }
  /// The first row that contains the magnitude, else the last row.
  const ErrorBound& bound_at(double magnitude) const;
};

/// The instruction with this opcode, with or without `.ftz`. Fails to compile if there is none.
consteval ApproximateInstruction approximate_instruction(std::string_view opcode) {
  const auto matches = [&](const ErrorBound& row) {
    return row.opcode == opcode || row.ftz_opcode == opcode;
  };
  std::size_t first = 0;
  while (!matches(kErrorBounds[first])) ++first;
  std::size_t end = first;
  while (end < std::size(kErrorBounds) && matches(kErrorBounds[end])) ++end;
  std::uint64_t key = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : opcode) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return {.bounds = std::span(kErrorBounds).subspan(first, end - first), .key = key};
}

/// The value of the format nearest to a finite or infinite value, ties to even.
double round_to(const ResultFormat& format, double value);

/// The distance between neighbours of the format at a finite value.
double ulp_at(const ResultFormat& format, double value);

/// A number in [-1, 1], evenly distributed: a function of the arguments alone, so that equal
/// operands have equal errors under all schedules.
double error_fraction(std::uint64_t seed, const ApproximateInstruction& instruction,
                      std::uint64_t first_operand, std::uint64_t second_operand = 0);

/// The value of the format nearest to the exact one plus `fraction`, in [-1, 1], of the bound. It
/// is `rounded`, the correctly rounded value, if rounding leads out of the bound, or if an error in
/// ulp would change the sign. Overflow has no error, nor has underflow to zero if it is in ulp.
double with_error(const ErrorBound& bound, double exact, double rounded, double fraction);

/// The f32 nearest to the exact value, ties to even. `value` has a relative error of at most 2^-49.
/// The function `precise` computes it in long double for the rare values near a boundary, with an
/// error of at most 2^-58. A value that remains near a boundary is exact: a power of two.
template <class Precise>
float nearest_f32(double value, Precise precise) {
  constexpr double kError = 0x1p-49;
  const auto low = static_cast<float>(value * (1 - kError));
  const auto high = static_cast<float>(value * (1 + kError));
  if (low == high) [[likely]]
    return low;
  return static_cast<float>(static_cast<long double>(precise()));
}

}  // namespace sinter::virtual_gpu
