// The numbers that the extents of a list are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/shape/extent.h"

namespace sinter {

inline std::vector<std::int64_t> evaluate_all(std::span<const Extent> extents,
                                              std::span<const std::int64_t> symbol_values) {
  std::vector<std::int64_t> values;
  values.reserve(extents.size());
  for (const Extent extent : extents) values.push_back(evaluate(extent, symbol_values));
  return values;
}

}  // namespace sinter
