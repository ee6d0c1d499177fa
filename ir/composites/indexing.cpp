// Triangular masks, one_hot, advanced indexing and grid_sample, composed from take and comparisons.
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "ir/record/index_operands.h"
#include "sinter/views.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

/// `x` with 0 above (`lower`) or below the given diagonal of its last two axes.
Tensor triangle(std::string_view op, const Operand& x, std::int64_t diagonal, bool lower) {
  const LocationScope scope(x);
  GraphData& data = graph_of(op, x);
  const std::span<const Extent> shape = x.tensor.node()->shape;
  if (shape.size() < 2)
    fail(op, fmt::format("{} has fewer than two axes", type_text(*x.tensor.node())), x.location);
  const Tensor row = unsqueeze(axis_indices(data, shape[shape.size() - 2], x.location), 1);
  const Tensor last = row + diagonal;
  const Tensor column = axis_indices(data, shape.back(), x.location);
  const Tensor keep = lower ? le(column, last) : ge(column, last);
  // false converts to 0 in every dtype; an integer literal would promote bool to i64.
  return where(keep, x, Operand(Literal::of(false), x.location));
}

}  // namespace

Tensor tril(Operand x, std::int64_t diagonal) { return triangle("tril", x, diagonal, true); }
Tensor triu(Operand x, std::int64_t diagonal) { return triangle("triu", x, diagonal, false); }

Tensor one_hot(Operand indices, Extent classes, DType dtype) {
  const LocationScope scope(indices);
  GraphData& data = graph_of("one_hot", indices);
  check_integers("one_hot", indices);
  const Tensor index = unsqueeze(cast(indices, i64), -1);
  const Tensor classes_in_order = axis_indices(data, classes, indices.location);
  return cast(eq(index, classes_in_order), dtype);
}

Tensor embedding(Operand weight, Operand indices) { return take(weight, indices, 0); }

Tensor index(Operand x, std::span<const Operand> indices, Axes axes) {
  const LocationScope scope(x);
  const AxesVector checked = checked_index_axes("index", x, indices, axes);
  const Node& node = *x.tensor.node();
  if (indices.size() == 1) return take(x, indices[0], static_cast<int>(checked[0]));

  // Moves the indexed axes together and merges them. The indices become positions along the merged
  // axis.
  const std::int64_t first = first_index_axis(checked);
  AxesVector order = other_axes(node, checked);
  order.insert(order.begin() + first, checked.begin(), checked.end());
  ShapeVector merged = reduced_shape(node, checked, Keep::no);
  merged.insert(merged.begin() + first, extent_of_axes(node, checked));
  const Tensor neighbours = permute(x, order);
  const Tensor flat = reshape(neighbours, merged);
  const Tensor position = linear_index(x, indices, checked);
  return take(flat, position, static_cast<int>(first));
}

Tensor index(Operand x, std::initializer_list<Operand> indices, Axes axes) {
  return index(x, std::span<const Operand>(indices.begin(), indices.size()), axes);
}

Tensor index(Operand x, std::span<const Tensor> indices, Axes axes) {
  return index(x, operands_of(indices, x.location), axes);
}

namespace {

/// The pixel coordinate, along an axis of `extent` pixels, of a coordinate in [-1, 1]. Clamped to
/// the axis unless the border is zeros.
Tensor to_pixel_coordinate(Tensor coordinate, Tensor extent, Border border) {
  const Tensor scaled = (coordinate + 1.0) * extent;
  const Tensor pixel = (scaled - 1.0) * 0.5;
  if (border == Border::zeros) return pixel;
  const Tensor last = extent - 1.0;
  return minimum(maximum(pixel, 0.0), last);
}

}  // namespace

Tensor grid_sample(Operand x, Operand grid, Border border) {
  const LocationScope scope(x);
  GraphData& data = graph_of("grid_sample", x);
  const std::span<const Extent> shape = x.tensor.node()->shape;
  const std::span<const Extent> points =
      grid.is_literal() ? std::span<const Extent>() : grid.tensor.node()->shape;
  if (shape.size() != 4 || points.size() != 4 || !points[3].is(2) || points[0] != shape[0])
    fail("grid_sample",
         fmt::format("x is {} and the grid {}; they must be [n, c, h, w] and [n, y, x, 2]",
                     type_text(*x.tensor.node()), to_string(points)),
         x.location);
  const Widening to("grid_sample", {&x});
  const Widening along("grid_sample", {&grid});
  const Tensor height = record_size(data, shape[2], along.compute(), x.location);
  const Tensor width = record_size(data, shape[3], along.compute(), x.location);
  const Operand coordinates = along.wide(grid);
  const Tensor column = to_pixel_coordinate(select(coordinates, 3, 0), width, border);
  const Tensor row = to_pixel_coordinate(select(coordinates, 3, 1), height, border);
  const Tensor left = floor(column);
  const Tensor top = floor(row);
  const Tensor batch = reshape(axis_indices(data, shape[0], x.location), {shape[0], 1, 1});
  Tensor result;
  for (int corner = 0; corner < 4; ++corner) {
    const Tensor at_x = corner % 2 == 0 ? left : left + 1.0;
    const Tensor at_y = corner < 2 ? top : top + 1.0;
    // abs is not used, because its slope at distance 0 is 0.
    const Tensor distance_x = corner % 2 == 0 ? column - at_x : at_x - column;
    const Tensor distance_y = corner < 2 ? row - at_y : at_y - row;
    const Tensor weight_x = 1.0 - distance_x;
    const Tensor weight_y = 1.0 - distance_y;
    Tensor weight = weight_x * weight_y;
    if (border == Border::zeros) {
      const Tensor right_of_begin = ge(at_x, 0.0);
      const Tensor in_row = logical_and(right_of_begin, lt(at_x, width));
      const Tensor below_begin = ge(at_y, 0.0);
      const Tensor in_column = logical_and(below_begin, lt(at_y, height));
      const Tensor inside = logical_and(in_row, in_column);
      weight = where(inside, weight, 0.0);
    }
    const Tensor index_y = cast(maximum(at_y, 0.0), i64);
    const Tensor index_x = cast(maximum(at_x, 0.0), i64);
    const Tensor pixels = index(x, {batch, index_y, index_x}, {0, 2, 3});  // [n, y, x, c]
    const Tensor factor = unsqueeze(weight, 1);
    const Tensor part = permute(pixels, {0, 3, 1, 2}) * factor;
    result = corner == 0 ? part : result + part;
  }
  return to.narrow(result);
}

}  // namespace sinter
