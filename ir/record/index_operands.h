// Helpers of composites that read or write at indices.
#pragma once

#include "ir/record/record.h"

#include <span>
#include <string_view>

namespace sinter {

/// The numbers 0, 1, 2, … below `extent`, in i64.
Tensor axis_indices(GraphData& data, Extent extent, Location location);
/// `indices` in i64, resolved for an axis of `extent`: negative indices count from the end, and the
/// result is clamped into the axis.
Tensor resolve_indices(Tensor indices, Extent extent, Location location);
/// `axes` counted from the front, one for each of `indices`. Throws UserError if axes or indices
/// are invalid.
AxesVector checked_index_axes(std::string_view op, const Operand& x,
                              std::span<const Operand> indices, Axes axes);
/// The row-major position among the elements of x's `axes` that the broadcast indices select.
Tensor linear_index(const Operand& x, std::span<const Operand> indices, const AxesVector& axes);
/// True if `axes` are adjacent, in any order. Sets `first` to the smallest axis.
bool are_adjacent(const AxesVector& axes, std::int64_t& first);

}  // namespace sinter
