// Evaluates a list of extents, and writes sizes as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/shape/extent.h"

namespace sinter {

/// The value of each extent when symbol i has the value `symbol_values[i]`.
inline std::vector<std::int64_t> evaluate_all(std::span<const Extent> extents,
                                              std::span<const std::int64_t> symbol_values) {
  std::vector<std::int64_t> values;
  values.reserve(extents.size());
  for (const Extent extent : extents) values.push_back(evaluate(extent, symbol_values));
  return values;
}

/// `rows = 2048` for each symbol of `table`, when symbol i has the value `symbol_values[i]`.
inline std::vector<std::string> size_texts(const ExtentTable& table,
                                           std::span<const std::int64_t> symbol_values) {
  std::vector<std::string> texts;
  for (const ExtentAtom* symbol : table.symbols())
    texts.push_back(symbol->name + " = " +
                    std::to_string(symbol_values[static_cast<std::size_t>(symbol->id)]));
  return texts;
}

}  // namespace sinter
