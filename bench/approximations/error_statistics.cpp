#include "bench/approximations/error_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinter::approximations {

namespace {

int bits_of(Format format) { return format == Format::f16 || format == Format::bf16 ? 16 : 32; }

/// The index of a number among those of its format, in increasing order.
std::int64_t position(Format format, std::uint32_t bits) {
  const std::uint32_t sign = 1U << (bits_of(format) - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

std::int64_t bucket(std::int64_t distance) {
  constexpr std::int64_t kMostExact = 8;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(distance));
  if (magnitude <= kMostExact) return distance;
  const auto power = static_cast<std::int64_t>(std::bit_ceil(magnitude));
  return distance < 0 ? -power : power;
}

bool is_same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) != std::isinf(b)) return false;
  return a == 0 || b == 0 || std::signbit(a) == std::signbit(b);
}

/// Adds one operand and its result.
void add_result(ErrorStatistics& statistics, const Instruction& instruction, std::uint32_t bits,
                std::uint32_t result) {
  const double operand = operand_of(instruction, bits);
  const double exact = instruction.exact(operand);
  const std::uint32_t rounded = rounded_result(instruction, operand, exact);
  const double got = value_of(instruction.format, result);
  const double expected = value_of(instruction.format, rounded);
  ++statistics.operands;
  if (!is_same_kind(got, expected)) {
    if (statistics.wrong_kinds++ == 0) statistics.wrong_operand = bits;
    return;
  }
  if (std::isnan(got)) {
    ++statistics.steps[0];
    return;
  }
  const std::int64_t distance =
      position(instruction.format, result) - position(instruction.format, rounded);
  ++statistics.steps[bucket(distance)];
  if (std::isinf(got) || !std::isfinite(exact)) return;
  const bool is_flushed = instruction.flushes && expected == 0;
  if (is_flushed) return;
  const double absolute = std::abs(got - exact);
  statistics.max_absolute = std::max(statistics.max_absolute, absolute);
  if (exact != 0)
    statistics.max_relative = std::max(statistics.max_relative, absolute / std::abs(exact));
  const double ulp = absolute / ulp_at(instruction.format, exact);
  if (ulp > statistics.max_ulp) {
    statistics.max_ulp = ulp;
    statistics.worst_operand = bits;
    statistics.worst_result = result;
  }
}

}  // namespace

void ErrorStatistics::add(const ErrorStatistics& other) {
  operands += other.operands;
  max_absolute = std::max(max_absolute, other.max_absolute);
  max_relative = std::max(max_relative, other.max_relative);
  if (other.max_ulp > max_ulp) {
    max_ulp = other.max_ulp;
    worst_operand = other.worst_operand;
    worst_result = other.worst_result;
  }
  for (const auto& [distance, count] : other.steps) steps[distance] += count;
  if (wrong_kinds == 0) wrong_operand = other.wrong_operand;
  wrong_kinds += other.wrong_kinds;
}

ErrorStatistics errors_of(const Instruction& instruction, std::uint32_t first, std::uint32_t stride,
                          std::span<const std::uint32_t> results) {
  ErrorStatistics statistics;
  for (std::size_t i = 0; i < results.size(); ++i)
    add_result(statistics, instruction, first + static_cast<std::uint32_t>(i) * stride, results[i]);
  return statistics;
}

}  // namespace sinter::approximations
