// Helpers of composites that read or write at indices.
#pragma once

#include "ir/record/record.h"

#include <span>
#include <string_view>

namespace sinter {

/// The `extent` numbers first, first + step, first + 2 step, … in i64.
Tensor axis_indices(GraphData& data, Extent extent, Location location, std::int64_t first = 0,
                    std::int64_t step = 1);
/// 0, 1, 2, … along `axis` of `shape`; the other axes have extent 1.
Tensor indices_along(GraphData& data, std::span<const Extent> shape, std::size_t axis,
                     Location location);
/// `indices` in i64, resolved for an axis of `extent`: negative indices count from the end, and the
/// result is clamped into the axis.
Tensor resolve_indices(Tensor indices, Extent extent, Location location);
/// The x with permute(x, `axes`) = `permuted`.
Tensor permute_back(Tensor permuted, std::span<const std::int64_t> axes);
/// `axes` counted from the front, one for each of `indices`. Throws UserError if axes or indices
/// are invalid.
AxesVector checked_index_axes(std::string_view op, const Operand& x,
                              std::span<const Operand> indices, Axes axes);
/// The row-major position among the elements of x's `axes` that the broadcast indices select.
Tensor linear_index(const Operand& x, std::span<const Operand> indices, const AxesVector& axes);
/// The axis of the result of `index` at which the axes of the indices begin. It is the smallest of
/// `axes` if they are adjacent, in any order; else 0, as in NumPy.
std::int64_t first_index_axis(const AxesVector& axes);

}  // namespace sinter
