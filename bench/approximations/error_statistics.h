// The errors of an instruction over many operands.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "bench/approximations/instruction.h"

namespace sinter::approximations {

struct ErrorStatistics {
  std::int64_t operands = 0;
  // The largest distances to the exact result. The manual's bounds are of all three kinds.
  double max_ulp = 0;
  double max_absolute = 0;
  double max_relative = 0;
  std::uint32_t worst_operand = 0;  ///< bits of the operand with max_ulp, and of its result
  std::uint32_t worst_result = 0;
  /// Results by their distance to the correctly rounded one, in numbers of the format. Distances
  /// above 8 count as the next power of two. An expected NaN has the distance 0.
  std::map<std::int64_t, std::int64_t> steps;
  std::int64_t wrong_kinds = 0;     ///< NaN, infinite or of another sign, unlike the rounded result
  std::uint32_t wrong_operand = 0;  ///< the first of them

  void add(const ErrorStatistics& other);
};

/// The statistics of `results`, whose operands are `first`, `first + stride`, and so on.
ErrorStatistics errors_of(const Instruction& instruction, std::uint32_t first, std::uint32_t stride,
                          std::span<const std::uint32_t> results);

}  // namespace sinter::approximations
