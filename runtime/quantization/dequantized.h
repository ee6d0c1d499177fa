// Recognises dequantised values: (q - zero_point) * scale.
#pragma once

#include "ir/graph/node.h"

#include <optional>

namespace sinter {

/// A value that is (levels - zero_point) * scale. Scale and zero point are numbers, or have the
/// rank of the levels and broadcast to them.
struct Dequantized {
  Tensor levels;      ///< i8, u8, or f8
  Tensor zero_point;  ///< integer; empty: 0
  Tensor scale;       ///< f32
};

/// The parts of `node`, seen through casts between floating dtypes, reshapes and permutations.
/// nullopt if it is something else. May record views of the parts.
std::optional<Dequantized> dequantized_value(GraphData& graph, const Node* node);

/// True if `parameter`, a scale or zero point of a value of rank `rank`, is equal along `axis`.
bool is_equal_along(const Tensor& parameter, std::int64_t axis, int rank);

/// True if `parameter` is empty or one number.
bool is_one_number(const Tensor& parameter);

}  // namespace sinter
