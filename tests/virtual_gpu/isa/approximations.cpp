// The machinery of approximate instructions: rounding, and errors by a hash.
#include "tests/virtual_gpu/isa/approximations.h"

#include <algorithm>
#include <cmath>

namespace sinter::virtual_gpu {
namespace approximations_detail {

/// The mixing step of SplitMix64.
static std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// The largest distance from the exact value that a row allows.
static double allowed_distance(const ErrorBound& bound, double exact, double rounded) {
  switch (bound.kind) {
    case ErrorKind::ulp: return bound.bound * ulp_at(bound.format, exact);
    case ErrorKind::ulp_of_rounded: return bound.bound * ulp_at(bound.format, rounded);
    case ErrorKind::relative: return bound.bound * std::abs(exact);
    case ErrorKind::absolute:
    case ErrorKind::none: return bound.bound;
  }
  return 0;
}

static bool is_in_ulp(ErrorKind kind) {
  return kind == ErrorKind::ulp || kind == ErrorKind::ulp_of_rounded;
}

}  // namespace approximations_detail

const ErrorBound& ApproximateInstruction::bound_at(double magnitude) const {
  for (const ErrorBound& row : bounds)
    if (row.low <= magnitude && magnitude <= row.high) return row;
  return bounds.back();
}

double ulp_at(const ResultFormat& format, double value) {
  const int exponent = value == 0 ? format.min_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.precision + 1);
}

double round_to(const ResultFormat& format, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double ulp = ulp_at(format, value);
  const double rounded = std::nearbyint(value / ulp) * ulp;
  const bool overflows = std::abs(rounded) >= std::ldexp(1.0, format.max_exponent + 1);
  return overflows ? std::copysign(INFINITY, value) : rounded;
}

double error_fraction(std::uint64_t seed, const ApproximateInstruction& instruction,
                      std::uint64_t first_operand, std::uint64_t second_operand) {
  using approximations_detail::mix;
  const std::uint64_t hash = mix(mix(mix(seed ^ instruction.key) ^ first_operand) ^ second_operand);
  return static_cast<double>(static_cast<std::int64_t>(hash)) * 0x1p-63;
}

double with_error(const ErrorBound& bound, double exact, double rounded, double fraction) {
  using namespace approximations_detail;
  if (bound.kind == ErrorKind::none) return round_to(bound.format, fraction * bound.bound);
  if (std::isinf(rounded) || (rounded == 0 && is_in_ulp(bound.kind))) return rounded;
  const double centre = bound.kind == ErrorKind::ulp_of_rounded ? rounded : exact;
  const double distance = allowed_distance(bound, exact, rounded);
  const double candidate = round_to(bound.format, centre + fraction * distance);
  if (!(std::abs(candidate - centre) <= distance)) return rounded;
  if (is_in_ulp(bound.kind) && std::signbit(candidate) != std::signbit(exact)) return rounded;
  return candidate;
}

}  // namespace sinter::virtual_gpu
