// The vjps of the structural ops. If an op reads each element a bounded, known number of times, its
// vjp consists of structural ops and sums. Scatters are used only if the indices depend on data, or
// for as_strided. Each op is recorded in a separate statement, because a C++ compiler may evaluate
// the operands of one expression in any order.
#include "ir/autodiff/structural_vjp.h"

#include "ir/graph/operand_index.h"
#include "ir/record/index_operands.h"
#include "sinter/views.h"

#include <algorithm>
#include <numeric>

namespace sinter {

namespace {

std::size_t axis_of(const Node& node) {
  return static_cast<std::size_t>(attribute(node, "axis").integer);
}

/// An array of `shape` filled with `value`, in the graph and at the source location of `like`.
Tensor filled_like(Tensor like, std::span<const Extent> shape, std::int64_t value, DType dtype) {
  GraphData& graph = *like.graph();
  const Location location = graph.location(like.node());
  const Node* number = constant(graph, "gradient", Literal::of(value), dtype, location);
  const Attribute attributes[] = {
      {.extents = shape}, {.literal = number->attributes[0].literal}, {.dtype = dtype}};
  return record_node(graph, Op::full, dtype, {}, shape, attributes, location);
}

/// Zeros with extent `count` along `axis` and g's extents along the other axes.
Tensor zeros_along(Tensor g, std::size_t axis, Extent count) {
  ShapeVector shape(g.shape().begin(), g.shape().end());
  shape[axis] = count;
  return filled_like(g, shape, 0, g.dtype());
}

/// g padded with zeros to `extent` along `axis`; g begins at index `begin`.
Tensor zero_padded(Tensor g, std::size_t axis, Extent begin, Extent extent) {
  const Extent after = extent - begin - g.shape()[axis];
  std::vector<Operand> segments;
  if (!begin.is(0)) segments.emplace_back(zeros_along(g, axis, begin));
  segments.emplace_back(g);
  if (!after.is(0)) segments.emplace_back(zeros_along(g, axis, after));
  return concat(segments, static_cast<int>(axis));
}

/// zero_padded, but elements of g beyond the end are dropped.
Tensor pad_or_crop(Tensor g, std::size_t axis, Extent begin, Extent extent) {
  const Extent room = extent - begin;
  const Extent length = g.shape()[axis];
  if (provably_nonnegative(room - length)) return zero_padded(g, axis, begin, extent);
  // If symbols decide which is longer, g is first padded to a length that covers both cases.
  const bool is_longer = provably_nonnegative(length - room);
  const Tensor enough = is_longer ? g : zero_padded(g, axis, 0, length + room);
  const Tensor inside = slice(enough, static_cast<int>(axis), 0, room);
  return zero_padded(inside, axis, begin, extent);
}

/// The permutation of 0 … rank - 1 that moves axis `from` to index `to`.
AxesVector move_axis(std::size_t rank, std::size_t from, std::size_t to) {
  AxesVector axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + to, static_cast<std::int64_t>(from));
  return axes;
}

/// Lays out g [..., count, ..., size] as `count` blocks of `size` elements along `axis`. The blocks
/// begin `step` >= size elements apart, the first at `begin`, with zeros between them. The result
/// has `extent` elements along `axis`.
Tensor spread_blocks(Tensor g, std::size_t axis, Extent begin, std::int64_t step, Extent extent) {
  const std::size_t last = g.shape().size() - 1;
  const Tensor blocks = zero_padded(g, last, 0, step);
  const AxesVector order = move_axis(last + 1, last, axis + 1);
  const Tensor side_by_side = permute(blocks, order);
  ShapeVector shape(g.shape().begin(), g.shape().end() - 1);
  shape[axis] = shape[axis] * Extent(step);
  return pad_or_crop(reshape(side_by_side, shape), axis, begin, extent);
}

Tensor slice_vjp(const Node& node, Tensor g) {
  const std::size_t axis = axis_of(node);
  const Extent begin = attribute(node, "begin").extent;
  const Extent extent = node.operand(0)->shape[axis];
  const std::int64_t step = attribute(node, "step").integer;
  if (step == 1) return zero_padded(g, axis, begin, extent);
  return spread_blocks(unsqueeze(g, -1), axis, begin, step, extent);
}

// A window of unfold covers `parts` = ⌈size / step⌉ blocks of `step` elements, and block b is part
// j of window b - j. So block b of x's cotangent is the sum over j of part j of window b - j. The
// two functions below compute it; `fold_windows` chooses between them.

/// Adds one term per part. There is no reduction, so the sum fuses with any consumer.
Tensor sum_of_few_parts(Tensor g, std::size_t axis, std::int64_t size, std::int64_t step,
                        Extent extent) {
  const int last = g.rank() - 1;
  Tensor total;
  for (std::int64_t begin = 0; begin < size; begin += step) {
    const Tensor part = slice(g, last, begin, std::min(begin + step, size));
    const Tensor spread = spread_blocks(part, axis, begin, step, extent);
    total = total.node() ? total + spread : spread;
  }
  return total;
}

/// The parts that cover one block form a diagonal of [windows, parts]. A strided view selects the
/// diagonals, and one reduction sums any number of parts.
Tensor sum_of_many_parts(Tensor g, std::size_t axis, std::int64_t parts, std::int64_t step,
                         Extent extent) {
  const std::size_t last = g.shape().size() - 1;
  const Tensor whole = zero_padded(g, last, 0, parts * step);
  ShapeVector shape(g.shape().begin(), g.shape().end() - 1);
  shape.push_back(parts);
  shape.push_back(step);
  const Tensor split = reshape(whole, shape);  // [..., windows, ..., parts, step]
  const Tensor backwards = flip(split, {static_cast<std::int64_t>(last)});
  const AxesVector order = move_axis(shape.size(), axis, last - 1);
  const Tensor windows_first = permute(backwards, order);  // [..., windows, parts, step]

  const std::size_t windows = last - 1;
  const Extent count = shape[axis];
  const Tensor rows =
      zero_padded(windows_first, windows, parts - 1, count + Extent(2 * (parts - 1)));
  ShapeVector diagonals(rows.shape().begin(), rows.shape().end());
  diagonals[windows] = count + Extent(parts - 1);
  std::vector<Extent> strides = row_major_strides(rows.shape());
  strides[last] = Extent((parts + 1) * step);
  const Tensor over_blocks = as_strided(rows, diagonals, strides);
  const Tensor blocks = sum(over_blocks, {static_cast<std::int64_t>(last)});
  const AxesVector back = move_axis(last + 1, windows, axis);
  return spread_blocks(permute(blocks, back), axis, 0, step, extent);
}

Tensor unfold_vjp(const Node& node, Tensor g) {
  const std::size_t axis = axis_of(node);
  return fold_windows(g, axis, attribute(node, "step").integer, node.operand(0)->shape[axis]);
}

Tensor as_strided_vjp(const Node& node, Tensor g) {
  GraphData& graph = *g.graph();
  const Location location = graph.location(&node);
  const std::span<const Extent> strides = attribute(node, "strides").extents;
  Tensor position = record_size(graph, attribute(node, "offset").extent, i64, location);
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    const Tensor stride = record_size(graph, strides[axis], i64, location);
    const Tensor along = indices_along(graph, node.shape, axis, location) * stride;
    position = position + along;
  }
  const Extent count = product(node.shape);
  const Tensor positions = reshape(broadcast_to(position, node.shape), {count});
  const DType wide = info(g.dtype()).compute;
  const Tensor source = reshape(cast(g, wide), {count, 1});
  const Node& x = *node.operand(0);
  const Extent elements[] = {product(x.shape), 1};
  const Tensor total = scatter(filled_like(g, elements, 0, wide), positions, source, true);
  return cast(reshape(total, x.shape), g.dtype());
}

Tensor concat_vjp(const Node& node, std::size_t operand, Tensor g) {
  const Segment segment = concat_segment(node, operand);
  return slice(g, static_cast<int>(segment.axis), segment.begin, segment.end);
}

Tensor take_vjp(const Node& node, Tensor g) {
  const Operand indices[] = {tensor(*g.graph(), node.operand(1))};
  const Tensor zeros = filled_like(g, node.operand(0)->shape, 0, g.dtype());
  return index_put(zeros, g, indices, {attribute(node, "axis").integer}, true);
}

Tensor take_along_axis_vjp(const Node& node, Tensor g) {
  const std::size_t axis = axis_of(node);
  const std::span<const Extent> shape = node.operand(0)->shape;
  const Tensor indices = tensor(*g.graph(), node.operand(1));
  if (!node.shape[axis].is(1)) {
    const Tensor zeros = filled_like(g, shape, 0, g.dtype());
    return scatter_add(zeros, static_cast<int>(axis), indices, g);
  }
  // Only one element of each line was read, so a comparison replaces the scatter.
  const Location location = g.graph()->location(&node);
  const Tensor chosen = resolve_indices(indices, shape[axis], location);
  const Tensor is_it = eq(indices_along(*g.graph(), shape, axis, location), chosen);
  return where(is_it, g, 0);
}

/// True for each index in [0, rows).
Tensor is_inside(Tensor indices, Extent rows, Location location) {
  const Tensor wide = cast(indices, i64);
  const Tensor end = record_size(*indices.graph(), rows, i64, location);
  const Tensor is_at_begin = ge(wide, 0);
  const Tensor is_before_end = lt(wide, end);
  return logical_and(is_at_begin, is_before_end);
}

Tensor scatter_vjp(const Node& node, std::size_t operand, Tensor g) {
  GraphData& graph = *g.graph();
  const Location location = graph.location(&node);
  const Tensor indices = tensor(graph, node.operand(1));
  const bool of_x = operand == 0;
  if (attribute(node, "accumulate").integer != 0) {
    if (of_x) return g;
    const Tensor counts = is_inside(indices, node.shape[0], location);
    const Tensor rows = take(g, indices, 0);
    return where(unsqueeze(counts, 1), rows, 0);
  }
  // For each row of x the last source row written to it; -1 for none.
  const Tensor order = unsqueeze(axis_indices(graph, indices.shape()[0], location), 1);
  const Extent column[] = {node.shape[0], 1};
  const Tensor last = scatter(filled_like(g, column, -1, i64), indices, order, false);
  if (of_x) return where(lt(last, 0), g, 0);
  // `take` clamps an index out of range, but the row read then was written by another source row.
  const Tensor is_last = eq(take(last, indices, 0), order);
  const Tensor rows = take(g, indices, 0);
  return where(is_last, rows, 0);
}

}  // namespace

Tensor unbroadcast(Tensor g, std::span<const Extent> shape) {
  const std::size_t shift = g.shape().size() - shape.size();
  AxesVector axes;
  for (std::size_t axis = 0; axis < g.shape().size(); ++axis) {
    const bool is_repeated = axis < shift || shape[axis - shift].is(1);
    if (is_repeated && !g.shape()[axis].is(1)) axes.push_back(static_cast<std::int64_t>(axis));
  }
  return reshape(axes.empty() ? g : sum(g, axes), shape);
}

Tensor fold_windows(Tensor g, std::size_t axis, std::int64_t step, Extent extent) {
  // Above this number of parts a reduction is faster than separate terms.
  constexpr std::int64_t kFewParts = 8;
  const std::int64_t size = g.shape().back().number();
  const std::int64_t parts = ceil_div(size, step).number();
  if (parts == 1) return spread_blocks(g, axis, 0, step, extent);
  const Tensor wide = cast(g, info(g.dtype()).compute);
  const Tensor total = parts <= kFewParts ? sum_of_few_parts(wide, axis, size, step, extent)
                                          : sum_of_many_parts(wide, axis, parts, step, extent);
  return cast(total, g.dtype());
}

Tensor structural_vjp(Tensor y, std::size_t operand, Tensor g) {
  const Node& node = *y.node();
  const Node& x = *node.operand(operand);
  switch (node.op) {
    case Op::cast: return cast(g, x.dtype);
    case Op::reshape: return reshape(g, x.shape);
    case Op::permute: return permute_back(g, attribute(node, "axes").integers);
    case Op::broadcast_to: return unbroadcast(g, x.shape);
    case Op::slice: return slice_vjp(node, g);
    case Op::flip: return flip(g, attribute(node, "axes").integers);
    case Op::as_strided: return as_strided_vjp(node, g);
    case Op::unfold: return unfold_vjp(node, g);
    case Op::concat: return concat_vjp(node, operand, g);
    case Op::take: return take_vjp(node, g);
    case Op::take_along_axis: return take_along_axis_vjp(node, g);
    case Op::scatter: return scatter_vjp(node, operand, g);
    default: return {};
  }
}

}  // namespace sinter
