// What reading and writing at indices have in common.
#pragma once

#include "ir/record/record.h"

#include <span>
#include <string_view>

namespace sinter {

/// 0, 1, 2, … in i64.
Tensor places(GraphData& data, Extent extent, Location location);
/// `indices` into `extent` in i64, with negative ones wrapped and all of them inside.
Tensor resolved(Tensor indices, Extent extent, Location location);
/// `axes` from the front, one for each of `indices`; throws the user's error where they do not fit.
AxesVector checked_index_axes(std::string_view op, const Operand& x,
                              std::span<const Operand> indices, Axes axes);
/// The row-major place among the elements of x's `axes` that the indices, broadcast, point at.
Tensor merged_position(const Operand& x, std::span<const Operand> indices, const AxesVector& axes);
/// Whether `axes` are neighbours, in any order; the first place of them.
bool are_adjacent(const AxesVector& axes, std::int64_t& first);

}  // namespace sinter
