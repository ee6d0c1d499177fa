// Recording scans, and the way back through them.
#include "ir/composite.h"
#include "ir/record.h"
#include "ir/resolve_indices.h"
#include "ir/rounding.h"
#include "ir/scan_vjp.h"
#include "sinter/views.h"

#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

/// What a scan begins with.
Literal identity_of(Op op, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool is_real = is_floating(dtype);
  switch (op) {
    case Op::cumsum: return is_real ? Literal::of(0.0) : integer_literal(0, dtype);
    case Op::cumprod: return is_real ? Literal::of(1.0) : integer_literal(1, dtype);
    case Op::cummax:
      return is_real ? Literal::of(-infinity) : integer_literal(lowest_integer(dtype), dtype);
    default:
      return is_real ? Literal::of(infinity) : integer_literal(highest_integer(dtype), dtype);
  }
}

Tensor scanned(Op op, const Operand& x, std::int64_t axis) {
  const OpInfo& row = info(op);
  GraphData& graph = graph_of(row.name, x);
  const Node* node = x.tensor.node();
  if (node->dtype == c64)
    fail(row.name, fmt::format("{} is for storage only; cast it", type_text(*node)), x.location);
  const Attribute attribute = {.integer = axis};
  return tensor(graph, graph.make({.op = op,
                                   .dtype = reduction_result(op, node->dtype),
                                   .operands = {&node, 1},
                                   .shape = node->shape,
                                   .attributes = {&attribute, 1}},
                                  x.location));
}

}  // namespace

Tensor record_scan(Op op, const Operand& x, std::int64_t axis, ScanOptions options) {
  const CalledAt place(x);
  GraphData& graph = graph_of(info(op).name, x);
  const std::int64_t checked = checked_axis(info(op).name, axis, *x.tensor.node(), x.location);
  const int along = static_cast<int>(checked);
  const Tensor forward = options.reverse ? flip(x, {checked}) : x.tensor;
  Tensor result = scanned(op, Operand(forward, x.location.file, x.location.line), checked);
  const Extent extent = result.shape()[static_cast<std::size_t>(checked)];
  if (options.exclusive && !extent.is(0)) {
    ShapeVector first(result.shape().begin(), result.shape().end());
    first[static_cast<std::size_t>(checked)] = 1;
    const Node* number =
        constant(graph, info(op).name, identity_of(op, result.dtype()), result.dtype(), x.location);
    const Tensor begin = broadcast_to(tensor(graph, number), std::span<const Extent>(first));
    if (extent.is(1))
      result = begin;
    else if (extent.is_number())
      result = concat({begin, slice(result, along, 0, extent - Extent(1))}, along);
    else  // a symbol may be 0
      result = slice(concat({begin, result}, along), along, 0, extent);
  }
  return options.reverse ? flip(result, {checked}) : result;
}

Tensor cumsum(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cumsum, x, axis, options);
}
Tensor cumprod(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cumprod, x, axis, options);
}
Tensor cummax(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cummax, x, axis, options);
}
Tensor cummin(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cummin, x, axis, options);
}

namespace {

int scanned_axis(Tensor y) { return static_cast<int>(attribute(*y.node(), "axis").integer); }

Tensor sum_from_here(Tensor g, int axis) { return cumsum(g, axis, {.reverse = true}); }

/// `is_new` holds where the extreme changes: every place belongs to the last such one before it.
Tensor to_leaders(Tensor x, Tensor g, Tensor is_new, int axis) {
  const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
  ShapeVector along(x.shape().size(), Extent(1));
  along[static_cast<std::size_t>(axis)] = extent;
  GraphData& data = *x.graph();
  const Tensor place =
      reshape(places(data, extent, data.location(x.node())), std::span<const Extent>(along));
  const Tensor leader = cummax(where(is_new, place, 0), axis);
  return scatter_add(zeros_like(x), axis, leader, g);
}

/// Where the scan without x's own element is passed by it; and at NaN, which nothing passes.
Tensor is_leader(Tensor passed, Tensor x, Tensor before) {
  const Tensor was_number = logical_not(isnan(before));
  const Tensor first_nan = logical_and(isnan(x), was_number);
  return logical_or(passed, first_nan);
}

}  // namespace

Tensor cumsum_vjp(Tensor x, Tensor y, Tensor g) {
  (void)x;
  return sum_from_here(g, scanned_axis(y));
}

Tensor cumprod_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor is_zero = eq(x, 0);
  const Tensor zeros = cumsum(is_zero, axis);
  const Tensor usable = where(is_zero, 1, x);
  // Up to the first zero: what follows it is 0 in y.
  const Tensor before = sum_from_here(g * y, axis) / usable;
  // At the first zero: the products as if it were 1.
  const Tensor is_first = logical_and(is_zero, eq(zeros, 1));
  const Tensor without = cumprod(where(is_first, 1, x), axis);
  const Tensor at_first = sum_from_here(g * without, axis);
  const Tensor from_first = where(is_first, at_first, 0);
  return where(eq(zeros, 0), before, from_first);
}

Tensor cummax_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor before = cummax(x, axis, {.exclusive = true});
  return to_leaders(x, g, is_leader(gt(x, before), x, before), axis);
}

Tensor cummin_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor before = cummin(x, axis, {.exclusive = true});
  return to_leaders(x, g, is_leader(lt(x, before), x, before), axis);
}

}  // namespace sinter
