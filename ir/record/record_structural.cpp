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
  GraphData& graph = graph_of("cast", x);
  const Node* node = x.tensor.node();
  if (node->dtype == to) return x.tensor;
  const Attribute attribute = {.dtype = to};
  return record_node(graph, Op::cast, to, {&node, 1}, node->shape, {&attribute, 1}, x.location);
}

Tensor bitcast(Operand x, DType to) {
  GraphData& graph = graph_of("bitcast", x);
  const Node* node = x.tensor.node();
  if (node->dtype == to) return x.tensor;
  if (size_of(node->dtype) != size_of(to) || to == boolean || node->dtype == boolean)
    fail("bitcast",
         fmt::format("{} cannot be read as {}; both must have the same size and neither be bool",
                     type_text(*node), name(to)),
         x.location);
  const Attribute attribute = {.dtype = to};
  return record_node(graph, Op::bitcast, to, {&node, 1}, node->shape, {&attribute, 1}, x.location);
}

Tensor reshape(Operand x, Extents shape) {
  GraphData& graph = graph_of("reshape", x);
  const Node* node = x.tensor.node();
  check_rank("reshape", shape.size(), x.location);
  const ShapeVector full = complete_shape(*node, shape, x.location);
  if (std::ranges::equal(full, node->shape)) return x.tensor;
  const Attribute attribute = {.extents = full};
  return record_node(graph, Op::reshape, node->dtype, {&node, 1}, full, {&attribute, 1},
                     x.location);
}

Tensor permute(Operand x, Axes axes) {
  GraphData& graph = graph_of("permute", x);
  const Node* node = x.tensor.node();
  const AxesVector order = checked_axes("permute", axes, *node, x.location);
  ShapeVector shape;
  for (const std::int64_t axis : order)
    shape.push_back(node->shape[static_cast<std::size_t>(axis)]);
  if (static_cast<int>(order.size()) != node->rank())
    fail("permute",
         fmt::format("[{}] names {} of the {} axes of {}", fmt::join(axes, ", "), order.size(),
                     node->rank(), type_text(*node)),
         x.location);
  if (std::ranges::is_sorted(order)) return x.tensor;
  const Attribute attribute = {.integers = order};
  return record_node(graph, Op::permute, node->dtype, {&node, 1}, shape, {&attribute, 1},
                     x.location);
}

Tensor broadcast_to(Operand x, Extents shape) {
  GraphData& graph = graph_of("broadcast_to", x);
  const Node* node = x.tensor.node();
  check_shape("broadcast_to", shape, x.location);
  const auto refuse = [&] {
    fail("broadcast_to",
         fmt::format("{} does not broadcast to {}", to_string(node->shape), to_string(shape)),
         x.location);
  };
  if (shape.size() < node->shape.size()) refuse();
  const std::size_t shift = shape.size() - node->shape.size();
  for (std::size_t axis = 0; axis < node->shape.size(); ++axis)
    if (node->shape[axis] != shape[shift + axis] && !node->shape[axis].is(1)) refuse();
  if (std::ranges::equal(shape, node->shape)) return x.tensor;
  const Attribute attribute = {.extents = shape};
  return record_node(graph, Op::broadcast_to, node->dtype, {&node, 1}, shape, {&attribute, 1},
                     x.location);
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
  GraphData& graph = graph_of("slice", x);
  const Node* node = x.tensor.node();
  const std::int64_t checked = checked_axis("slice", axis, *node, x.location);
  const Extent extent = node->shape[static_cast<std::size_t>(checked)];
  if (step < 1)
    fail("slice",
         fmt::format("step {} must be at least 1; flip(x, {{{}}}) reverses an axis "
                     "before it is sliced",
                     step, checked),
         x.location);
  const auto [first, last] = slice_bounds(extent, begin, end);
  const Extent length = slice_length(first, last, step);
  if (first.is(0) && length == extent) return x.tensor;
  ShapeVector shape(node->shape.begin(), node->shape.end());
  shape[static_cast<std::size_t>(checked)] = length;
  const Attribute attributes[] = {
      {.integer = checked}, {.extent = first}, {.extent = last}, {.integer = step}};
  return record_node(graph, Op::slice, node->dtype, {&node, 1}, shape, attributes, x.location);
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

namespace {

void check_indices(std::string_view op, const Operand& indices) {
  if (indices.is_literal())
    fail(op, "the indices are a number; use slice for one index", indices.location);
  if (!is_integer(indices.tensor.dtype()))
    fail(
        op,
        fmt::format("the indices are {}; they must be integers", type_text(*indices.tensor.node())),
        indices.location);
}

}  // namespace

Tensor take(Operand x, Operand indices, int axis) {
  const Operand operands[] = {x, indices};
  check_indices("take", indices);
  GraphData& graph = graph_of("take", refs_to(operands));
  if (x.is_literal()) fail("take", "the first operand is a number, not a Tensor", x.location);
  const Node* const nodes[] = {x.tensor.node(), indices.tensor.node()};
  const std::int64_t checked = checked_axis("take", axis, *nodes[0], x.location);
  ShapeVector shape(nodes[0]->shape.begin(), nodes[0]->shape.begin() + checked);
  shape.append(nodes[1]->shape.begin(), nodes[1]->shape.end());
  shape.append(nodes[0]->shape.begin() + checked + 1, nodes[0]->shape.end());
  check_rank("take", shape.size(), x.location);
  check_size("take", shape, x.location);
  const Attribute attribute = {.integer = checked};
  return record_node(graph, Op::take, nodes[0]->dtype, nodes, shape, {&attribute, 1}, x.location);
}

Tensor take_along_axis(Operand x, Operand indices, int axis) {
  const Operand operands[] = {x, indices};
  check_indices("take_along_axis", indices);
  GraphData& graph = graph_of("take_along_axis", refs_to(operands));
  if (x.is_literal())
    fail("take_along_axis", "the first operand is a number, not a Tensor", x.location);
  const Node* const nodes[] = {x.tensor.node(), indices.tensor.node()};
  const std::int64_t checked = checked_axis("take_along_axis", axis, *nodes[0], x.location);
  bool fits = nodes[0]->rank() == nodes[1]->rank();
  for (int i = 0; fits && i < nodes[0]->rank(); ++i) {
    const auto other = static_cast<std::size_t>(i);
    fits = i == checked || nodes[0]->shape[other] == nodes[1]->shape[other];
  }
  if (!fits)
    fail("take_along_axis",
         fmt::format("{} and indices {} must agree in rank and every axis but {}",
                     to_string(nodes[0]->shape), to_string(nodes[1]->shape), checked),
         x.location);
  const Attribute attribute = {.integer = checked};
  return record_node(graph, Op::take_along_axis, nodes[0]->dtype, nodes, nodes[1]->shape,
                     {&attribute, 1}, x.location);
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
