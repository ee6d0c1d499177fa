// Recording of structural ops and sources, with checks of shapes. ir/graph/operand_index.cpp has
// the index maps.
#include <fmt/format.h>

#include <algorithm>

#include "ir/record/record.h"

namespace sinter {

namespace {

void check_rank(std::string_view op, std::size_t rank, Location location) {
  if (rank > kMaxRank)
    fail(op, fmt::format("the result has rank {}, more than {}", rank, kMaxRank), location);
}

/// `shape` with its -1, if any, replaced by the extent that gives x's number of elements.
ShapeVector complete_shape(const Node& x, std::span<const Extent> shape, Location location) {
  ShapeVector result(shape.begin(), shape.end());
  Extent* unknown = nullptr;
  Extent known = 1;
  for (Extent& extent : result) {
    if (!extent.is(-1)) {
      if (provably_negative(extent))
        fail("reshape", fmt::format("{} has a negative extent", to_string(shape)), location);
      known = known * extent;
      continue;
    }
    if (unknown)
      fail("reshape", fmt::format("{} has more than one -1", to_string(shape)), location);
    unknown = &extent;
  }
  const Extent total = product(x.shape);
  const auto mismatch = [&] {
    fail("reshape",
         fmt::format("{} has {} elements and {} has {}", to_string(x.shape), to_string(total),
                     to_string(shape), to_string(known)),
         location);
  };
  if (unknown) {
    const std::optional<Extent> rest = known.is(0) ? std::nullopt : divide_exactly(total, known);
    if (!rest || provably_negative(*rest)) mismatch();
    *unknown = *rest;
  } else if (known != total) {
    mismatch();
  }
  return result;
}

}  // namespace

void check_shape(std::string_view op, std::span<const Extent> shape, Location location) {
  check_rank(op, shape.size(), location);
  for (const Extent extent : shape)
    if (provably_negative(extent))
      fail(op, fmt::format("{} has a negative extent", to_string(shape)), location);
  check_size(op, shape, location);
}

Tensor cast(Operand x, DType to) {
  const Node& node = node_of("cast", x);
  if (node.dtype == to) return x.tensor;
  return record_unary(Op::cast, x, to, node.shape, {{.dtype = to}});
}

Tensor bitcast(Operand x, DType to) {
  const Node& node = node_of("bitcast", x);
  if (node.dtype == to) return x.tensor;
  if (size_of(node.dtype) != size_of(to) || to == boolean || node.dtype == boolean)
    fail("bitcast",
         fmt::format("{} cannot be read as {}; both must have the same size and neither be bool",
                     type_text(node), name(to)),
         x.location);
  return record_unary(Op::bitcast, x, to, node.shape, {{.dtype = to}});
}

Tensor reshape(Operand x, Extents shape) {
  const Node& node = node_of("reshape", x);
  check_rank("reshape", shape.size(), x.location);
  const ShapeVector full = complete_shape(node, shape, x.location);
  if (std::ranges::equal(full, node.shape)) return x.tensor;
  return record_unary(Op::reshape, x, node.dtype, full, {{.extents = full}});
}

Tensor permute(Operand x, Axes axes) {
  const Node& node = node_of("permute", x);
  const AxesVector order = checked_axes("permute", axes, node, x.location);
  ShapeVector shape;
  for (const std::int64_t axis : order) shape.push_back(node.shape[static_cast<std::size_t>(axis)]);
  if (static_cast<int>(order.size()) != node.rank())
    fail("permute",
         fmt::format("[{}] names {} of the {} axes of {}", fmt::join(axes, ", "), order.size(),
                     node.rank(), type_text(node)),
         x.location);
  if (std::ranges::is_sorted(order)) return x.tensor;
  return record_unary(Op::permute, x, node.dtype, shape, {{.integers = order}});
}

Tensor broadcast_to(Operand x, Extents shape) {
  const Node& node = node_of("broadcast_to", x);
  check_shape("broadcast_to", shape, x.location);
  const auto refuse = [&] {
    fail("broadcast_to",
         fmt::format("{} does not broadcast to {}", to_string(node.shape), to_string(shape)),
         x.location);
  };
  if (shape.size() < node.shape.size()) refuse();
  const std::size_t shift = shape.size() - node.shape.size();
  for (std::size_t axis = 0; axis < node.shape.size(); ++axis)
    if (node.shape[axis] != shape[shift + axis] && !node.shape[axis].is(1)) refuse();
  if (std::ranges::equal(shape, node.shape)) return x.tensor;
  return record_unary(Op::broadcast_to, x, node.dtype, shape, {{.extents = shape}});
}

Extent slice_length(Extent begin, Extent end, std::int64_t step) {
  const Extent length = ceil_div(end - begin, step);
  return provably_negative(length) ? Extent(0) : length;
}

SliceBounds slice_bounds(Extent extent, Extent begin, Extent end) {
  const auto from_front = [&](Extent bound) {
    const Extent result = bound.is_number() && bound.number() < 0 ? extent + bound : bound;
    // As in Python, bounds beyond the ends are clamped. Only numbers can be compared, not symbols.
    if (result.is_number() && result.number() < 0) return Extent(0);
    if (result.is_number() && extent.is_number() && result.number() > extent.number())
      return extent;
    return result;
  };
  return {.begin = from_front(begin), .end = from_front(end)};
}

Tensor slice(Operand x, int axis, Extent begin, Extent end, int step) {
  const Node& node = node_of("slice", x);
  const std::int64_t checked = checked_axis("slice", axis, node, x.location);
  const Extent extent = node.shape[static_cast<std::size_t>(checked)];
  if (step < 1)
    fail("slice",
         fmt::format("step {} must be at least 1; flip(x, {{{}}}) reverses an axis "
                     "before it is sliced",
                     step, checked),
         x.location);
  const auto [first, last] = slice_bounds(extent, begin, end);
  const Extent length = slice_length(first, last, step);
  if (first.is(0) && length == extent) return x.tensor;
  ShapeVector shape(node.shape.begin(), node.shape.end());
  shape[static_cast<std::size_t>(checked)] = length;
  return record_unary(
      Op::slice, x, node.dtype, shape,
      {{.integer = checked}, {.extent = first}, {.extent = last}, {.integer = step}});
}

Tensor concat(std::span<const Operand> parts, int axis) {
  if (parts.empty()) throw UserError("concat: there are no operands; give at least one Tensor");
  GraphData& graph = graph_of("concat", refs_to(parts));
  const Location location = parts[0].location;
  llvm::SmallVector<const Node*, 4> nodes;
  for (const Operand& part : parts) {
    if (part.is_literal()) fail("concat", "an operand is a number; record it with full", location);
    nodes.push_back(part.tensor.node());
  }
  const Node& first = *nodes[0];
  const auto checked = static_cast<std::size_t>(checked_axis("concat", axis, first, location));
  ShapeVector shape(first.shape.begin(), first.shape.end());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Node& part = *nodes[i];
    bool fits = part.rank() == first.rank() && part.dtype == first.dtype;
    for (std::size_t other = 0; fits && other < shape.size(); ++other)
      fits = other == checked || part.shape[other] == first.shape[other];
    if (!fits)
      fail(
          "concat",
          fmt::format("{} and {} do not fit along axis {}; dtype and every other extent must agree",
                      type_text(first), type_text(part), checked),
          location);
    shape[checked] = shape[checked] + part.shape[checked];
  }
  if (nodes.size() == 1) return tensor(graph, nodes[0]);
  check_size("concat", shape, location);
  const Attribute attribute = {.integer = static_cast<std::int64_t>(checked)};
  return record_node(graph, Op::concat, first.dtype, nodes, shape, {&attribute, 1}, location);
}

Tensor concat(std::initializer_list<Operand> parts, int axis) {
  return concat(std::span<const Operand>(parts.begin(), parts.size()), axis);
}

Tensor concat(std::span<const Tensor> parts, int axis, const char* file, int line) {
  return concat(operands_of(parts, {file, line}), axis);
}

void check_integers(std::string_view op, const Operand& indices) {
  const Node& node = node_of(op, indices);
  if (!is_integer(node.dtype))
    fail(op, fmt::format("the indices are {}; they must be integers", type_text(node)),
         indices.location);
}

namespace {

ShapeVector shape_of_take(const Node& x, const Node& indices, std::int64_t axis,
                          Location location) {
  ShapeVector shape(x.shape.begin(), x.shape.begin() + axis);
  shape.append(indices.shape.begin(), indices.shape.end());
  shape.append(x.shape.begin() + axis + 1, x.shape.end());
  check_rank("take", shape.size(), location);
  check_size("take", shape, location);
  return shape;
}

ShapeVector shape_of_take_along_axis(const Node& x, const Node& indices, std::int64_t axis,
                                     Location location) {
  ShapeVector shape(x.shape.begin(), x.shape.end());
  const auto at = static_cast<std::size_t>(axis);
  if (x.rank() == indices.rank()) shape[at] = indices.shape[at];
  if (!std::ranges::equal(shape, indices.shape))
    fail("take_along_axis",
         fmt::format("{} and indices {} must agree in rank and every axis but {}",
                     to_string(x.shape), to_string(indices.shape), axis),
         location);
  return shape;
}

/// Records take or take_along_axis.
Tensor record_take(Op op, const Operand& x, const Operand& indices, int axis) {
  const std::string_view op_name = info(op).name;
  if (indices.is_literal())
    fail(op_name, "the indices are a number; use slice for one index", indices.location);
  check_integers(op_name, indices);
  const Operand* const operands[] = {&x, &indices};
  GraphData& graph = graph_of(op_name, operands);
  if (x.is_literal()) fail(op_name, "the first operand is a number, not a Tensor", x.location);
  const Node* const nodes[] = {x.tensor.node(), indices.tensor.node()};
  const std::int64_t checked = checked_axis(op_name, axis, *nodes[0], x.location);
  const auto shape_of = op == Op::take ? shape_of_take : shape_of_take_along_axis;
  const ShapeVector shape = shape_of(*nodes[0], *nodes[1], checked, x.location);
  const Attribute attribute = {.integer = checked};
  return record_node(graph, op, nodes[0]->dtype, nodes, shape, {&attribute, 1}, x.location);
}

}  // namespace

Tensor take(Operand x, Operand indices, int axis) {
  return record_take(Op::take, x, indices, axis);
}
Tensor take_along_axis(Operand x, Operand indices, int axis) {
  return record_take(Op::take_along_axis, x, indices, axis);
}

Tensor zeros_like(Tensor x) {
  GraphData& graph = *x.graph();
  const Literal zero = is_floating(x.dtype()) ? Literal::of(0.0) : integer_literal(0, x.dtype());
  const Attribute attributes[] = {{.extents = x.shape()}, {.literal = zero}, {.dtype = x.dtype()}};
  return record_node(graph, Op::full, x.dtype(), {}, x.shape(), attributes,
                     graph.location(x.node()));
}

Tensor full(Graph& graph, Extents shape, Literal value, DType dtype, const char* file, int line) {
  const Location location{file, line};
  check_shape("full", shape, location);
  // Converts the number like a constant, and rejects it if an integer dtype does not have it.
  const Node* number = constant(graph.data(), "full", value, dtype, location);
  const Attribute attributes[] = {
      {.extents = shape}, {.literal = number->attributes[0].literal}, {.dtype = dtype}};
  return record_node(graph.data(), Op::full, dtype, {}, shape, attributes, location);
}

Tensor iota(Graph& graph, Extent extent, std::int64_t start, std::int64_t step, DType dtype,
            const char* file, int line) {
  const Location location{file, line};
  if (!is_integer(dtype))
    fail("iota",
         fmt::format("the dtype is {}; it must be an integer dtype, cast the result", name(dtype)),
         location);
  const Attribute attributes[] = {
      {.extent = extent}, {.integer = start}, {.integer = step}, {.dtype = dtype}};
  if (provably_negative(extent))
    fail("iota", fmt::format("the extent {} is negative", to_string(extent)), location);
  return record_node(graph.data(), Op::iota, dtype, {}, {&extent, 1}, attributes, location);
}

Tensor record_size(GraphData& graph, Extent extent, DType dtype, Location location) {
  if (dtype == boolean) fail("size", "the dtype is bool; it must be numeric", location);
  const Attribute attributes[] = {{.extent = extent}, {.dtype = dtype}};
  return record_node(graph, Op::size, dtype, {}, {}, attributes, location);
}

}  // namespace sinter
