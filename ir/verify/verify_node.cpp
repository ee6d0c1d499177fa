// Verifies single nodes: operands, dtype, shape and attributes against the rules of their op.
#include "ir/verify/verify_node.h"

#include "ir/collectives/collective_node.h"
#include "ir/library_ops/conv_shape.h"
#include "ir/library_ops/matmul_shape.h"
#include "ir/record/custom.h"
#include "ir/record/opaque.h"
#include "ir/shape/strides.h"
#include "ir/types/casts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace sinter {

void require_dtype(std::string_view what, DType found, DType expected) {
  require(found == expected, "{} is {}, expected {}", what, name(found), name(expected));
}

void require_shape(const Node& node, std::span<const Extent> expected) {
  if (!std::ranges::equal(node.shape, expected))
    fail_rule("the shape is {}, expected {}", to_string(node.shape), to_string(expected));
}

namespace {

void require_operands(const Node& node, std::size_t count) {
  require_same("the number of operands", node.operands.size(), count);
}

/// The common dtype of the operands: that of the first operand that is not a constant. If all are
/// constants, it follows from the result; if the op's rule fixes the result dtype, from the first
/// constant.
DType operand_dtype(const Node& node, std::span<const Node* const> values) {
  for (const Node* value : values)
    if (!is_constant(*value)) return value->dtype;
  const bool tells =
      result_dtype(info(node.op).types, node.dtype) != node.dtype || node.dtype == boolean;
  return tells ? values[0]->dtype : node.dtype;
}

std::int64_t checked_axis(const Node& node, const Node& x) {
  const std::int64_t axis = attribute(node, "axis").integer;
  if (axis < 0 || axis >= x.rank())
    fail_rule("the axis is {}, expected an axis of {}", axis, to_string(x.shape));
  return axis;
}

}  // namespace

void verify_elementwise(const Node& node) {
  const OpInfo& row = info(node.op);
  require_operands(node, static_cast<std::size_t>(row.arity));
  std::span<const Node* const> values = node.operands;
  if (row.types == TypeRule::Where) {
    require_dtype("the dtype of the condition", values[0]->dtype, boolean);
    values = values.subspan(1);
  }
  const DType dtype = operand_dtype(node, values);
  require(supports_dtype(row.types, dtype), "the op does not take {}", name(dtype));
  for (const Node* value : values) {
    const bool is_compute = is_constant(*value) && value->dtype == info(dtype).compute;
    require(value->dtype == dtype || is_compute, "operand %{} is {}, expected {}", value->id,
            name(value->dtype), name(dtype));
  }
  require_dtype("the dtype", node.dtype, result_dtype(row.types, dtype));
  // Most nodes share the stored shape of their operands; comparing pointers is faster.
  const auto is_own_shape = [&](const Node* operand) {
    return operand->shape.data() == node.shape.data() && operand->rank() == node.rank();
  };
  if (!std::ranges::all_of(node.operands, is_own_shape))
    require_shape(node, broadcast_shapes(row.name, node.operands, {}));
}

void verify_reduction(const Node& node) {
  require_operands(node, 1);
  const Node& x = *node.operand(0);
  const TypeRule rule = info(node.op).types;
  require((rule == TypeRule::Number && x.dtype != c64) || supports_dtype(rule, x.dtype),
          "the op does not take {}", name(x.dtype));
  require_dtype("the dtype", node.dtype, reduction_result(node.op, x.dtype));
  if (gives_index(node.op)) checked_axis(node, x);

  const std::span<const std::int64_t> axes = reduced_axes(node);
  std::int64_t last = -1;
  for (const std::int64_t axis : axes) {
    if (axis <= last || axis >= x.rank())
      fail_rule("the axes are [{}], expected ascending axes of {}", fmt::join(axes, ", "),
                to_string(x.shape));
    last = axis;
  }
  if (!gives_index(node.op)) {
    const std::span<const std::int64_t> order = attribute(node, "order").integers;
    AxesVector sorted(order.begin(), order.end());
    std::ranges::sort(sorted);
    require(order.empty() || (std::ranges::equal(sorted, axes) && !std::ranges::is_sorted(order)),
            "the order is [{}], expected none or another order of [{}]", fmt::join(order, ", "),
            fmt::join(axes, ", "));
  }
  require_shape(node, reduced_shape(x, axes, keeps_axes(node) ? Keep::yes : Keep::no));
}

void verify_scan(const Node& node) {
  require_operands(node, 1);
  const Node& x = *node.operand(0);
  require(x.dtype != c64, "the op does not take {}", name(x.dtype));
  require_dtype("the dtype", node.dtype, reduction_result(node.op, x.dtype));
  checked_axis(node, x);
  require_shape(node, x.shape);
}

void verify_custom(const Node& node) {
  const Signature signature = parse_signature(attribute(node, "source").text);
  require_operands(node, signature.parameters.size());
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    require_dtype("an operand's compute dtype", info(node.operand(i)->dtype).compute,
                  signature.parameters[i]);
  require_dtype("the dtype", node.dtype, signature.result);
  require_shape(node, broadcast_shapes("custom", node.operands, {}));
}

void verify_opaque(const Node& node) {
  require(!node.operands.empty(), "there is no operand");
  require(!function_of(node).empty(), "the function has no name");
  const std::span<const std::int64_t> dtypes = attribute(node, "dtypes").integers;
  const std::span<const std::int64_t> ranks = attribute(node, "ranks").integers;
  require_same("the number of ranks", ranks.size(), dtypes.size());
  std::int64_t extents = 0;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    require(dtypes[i] >= 0 && dtypes[i] < std::ssize(kDTypes), "result {} has no dtype", i);
    require(ranks[i] >= 0 && ranks[i] <= kMaxRank, "result {} has rank {}", i, ranks[i]);
    extents += ranks[i];
  }
  require_same("the number of extents", std::ssize(attribute(node, "shapes").extents), extents);
  require(result_number(node) < dtypes.size(), "the result is {} of {}", result_number(node),
          dtypes.size());
  const ResultType type = result_types(node)[result_number(node)];
  require_dtype("the dtype", node.dtype, type.dtype);
  require_shape(node, type.shape);
}

namespace {

void verify_collective(const Node& node) {
  require_operands(node, 1);
  const Node& x = *node.operand(0);
  const std::int64_t ranks = ranks_of(node);
  require(!group_of(node).empty(), "the group has no name");
  require(ranks >= 1, "the group has {} ranks", ranks);
  if (reduces_over_ranks(node.op)) {
    require(can_reduce_over_ranks(x.dtype), "the op does not take {}", name(x.dtype));
    require(rank_reduction_of(node) != RankReduction::mean, "the reduction is the mean");
  }
  if (node.op == Op::broadcast || node.op == Op::reduce_to) {
    const std::int64_t root = attribute(node, "root").integer;
    require(root >= 0 && root < ranks, "the root is {} of {} ranks", root, ranks);
  }
  if (node.op == Op::send_receive) check_pairs(attribute(node, "pairs").integers, ranks, {});
  require_dtype("the dtype", node.dtype, x.dtype);
  require_shape(node, collective_shape(node.op, x, ranks, {}));
}

}  // namespace

void verify_library(const Node& node) {
  if (is_collective(node.op)) return verify_collective(node);
  require_operands(node, 2);
  const Node& a = *node.operand(0);
  const Node& b = *node.operand(1);
  if (node.op == Op::matmul) {
    require(a.rank() >= 2 && b.rank() >= 2, "the ranks are {} and {}, expected 2 or more",
            a.rank(), b.rank());
    matmul_dtype(a, b, {});
    require_dtype("the attribute result", attribute(node, "result").dtype, node.dtype);
    require(is_matmul_result(a.dtype, node.dtype), "the dtype is {} for operands of {}",
            name(node.dtype), name(a.dtype));
    return require_shape(node, matmul_shape(a, b, attribute(node, "transpose_a").integer != 0,
                                            attribute(node, "transpose_b").integer != 0, {}));
  }
  const std::string_view op = info(node.op).name;
  check_conv_operands(op, a, b, {});
  require_dtype("the dtype", node.dtype, a.dtype);
  const ConvOptions options = conv_options(node);
  const ConvGeometry geometry = conv_geometry(op, options, a.rank() - 2, {});
  switch (node.op) {
    case Op::conv: return require_shape(node, conv_shape(op, a.shape, b.shape, geometry, {}));
    case Op::conv_data_gradient:
      require_shape(node, attribute(node, "shape").extents);
      return require_shape(a, conv_shape(op, node.shape, b.shape, geometry, {}));
    default:
      require_shape(node, attribute(node, "shape").extents);
      return require_shape(b, conv_shape(op, a.shape, node.shape, geometry, {}));
  }
}

namespace {

void verify_permute(const Node& node, const Node& x) {
  const std::span<const std::int64_t> axes = attribute(node, "axes").integers;
  AxesVector sorted(axes.begin(), axes.end());
  std::ranges::sort(sorted);
  bool is_permutation = static_cast<int>(axes.size()) == x.rank();
  for (std::size_t i = 0; is_permutation && i < sorted.size(); ++i)
    is_permutation = sorted[i] == static_cast<std::int64_t>(i);
  if (!is_permutation)
    fail_rule("the axes are [{}], expected each of {} once", fmt::join(axes, ", "),
              to_string(x.shape));
  ShapeVector shape;
  for (const std::int64_t axis : axes) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  require_shape(node, shape);
}

void verify_broadcast(const Node& node, const Node& x) {
  require_shape(node, attribute(node, "shape").extents);
  bool fits = node.rank() >= x.rank();
  for (std::size_t i = 1; fits && i <= x.shape.size(); ++i) {
    const Extent from = x.shape[x.shape.size() - i];
    fits = from.is(1) || from == node.shape[node.shape.size() - i];
  }
  if (!fits)
    fail_rule("the operand's shape {} does not broadcast to {}", to_string(x.shape),
              to_string(node.shape));
}

void verify_slice(const Node& node, const Node& x) {
  const auto axis = static_cast<std::size_t>(checked_axis(node, x));
  const Extent begin = attribute(node, "begin").extent;
  const Extent end = attribute(node, "end").extent;
  const std::int64_t step = attribute(node, "step").integer;
  const Extent extent = x.shape[axis];
  require(step >= 1, "the step is {}, expected at least 1", step);
  for (const Extent bound : {begin, end}) {
    const bool is_inside =
        !bound.is_number() ||
        (bound.number() >= 0 && (!extent.is_number() || bound.number() <= extent.number()));
    if (!is_inside)
      fail_rule("the slice [{}, {}) leaves the extent {}", to_string(begin), to_string(end),
                to_string(extent));
  }
  ShapeVector shape(x.shape.begin(), x.shape.end());
  shape[axis] = slice_length(begin, end, step);
  require_shape(node, shape);
}

void verify_flip(const Node& node, const Node& x) {
  std::int64_t last = -1;
  for (const std::int64_t axis : attribute(node, "axes").integers) {
    require(axis > last && axis < x.rank(), "axis {} is out of order or out of range", axis);
    last = axis;
  }
  require_shape(node, x.shape);
}

void verify_unfold(const Node& node, const Node& x) {
  const auto axis = static_cast<std::size_t>(checked_axis(node, x));
  require_shape(node, unfolded_shape(x, axis, attribute(node, "size").integer,
                                     attribute(node, "step").integer));
}

void verify_as_strided(const Node& node, const Node& x) {
  require_shape(node, attribute(node, "shape").extents);
  require_same("the number of strides", attribute(node, "strides").extents.size(),
               node.shape.size());
  const Extent end =
      strided_end(node.shape, attribute(node, "strides").extents, attribute(node, "offset").extent);
  require(!provably_less(product(x.shape), end), "the view exceeds the operand's {} elements",
          to_string(product(x.shape)));
}

void verify_scatter(const Node& node, const Node& x) {
  require_operands(node, 3);
  const Node& indices = *node.operand(1);
  const Node& source = *node.operand(2);
  require(is_integer(indices.dtype), "the indices are {}", name(indices.dtype));
  require(x.rank() == 2 && indices.rank() == 1, "the ranks are {} and {}, expected 2 and 1",
          x.rank(), indices.rank());
  require_dtype("the source's dtype", source.dtype, x.dtype);
  const Extent expected[] = {indices.shape[0], x.shape[1]};
  require(std::ranges::equal(source.shape, expected), "the source is {}, expected {}",
          to_string(source.shape), to_string(expected));
  require(attribute(node, "accumulate").integer == 0 || can_accumulate(x.dtype),
          "scatter does not accumulate {}", name(x.dtype));
  require_shape(node, x.shape);
}

void verify_concat(const Node& node) {
  require(node.operands.size() >= 2, "concat has fewer than two operands");
  const Node& first = *node.operand(0);
  const auto axis = static_cast<std::size_t>(checked_axis(node, first));
  ShapeVector shape(first.shape.begin(), first.shape.end());
  for (const Node* part : node.operands.subspan(1)) {
    require_dtype("an operand's dtype", part->dtype, first.dtype);
    require(part->rank() == first.rank(), "the operands have different ranks");
    for (std::size_t other = 0; other < shape.size(); ++other)
      if (other != axis && part->shape[other] != shape[other])
        fail_rule("operands {} and {} do not fit along axis {}", to_string(first.shape),
                  to_string(part->shape), axis);
    shape[axis] = shape[axis] + part->shape[axis];
  }
  require_shape(node, shape);
}

void verify_take(const Node& node, const Node& x) {
  require_operands(node, 2);
  const Node& indices = *node.operand(1);
  require(is_integer(indices.dtype), "the indices are {}", name(indices.dtype));
  const std::int64_t axis = checked_axis(node, x);
  if (node.op == Op::take_along_axis) {
    require(indices.rank() == x.rank(), "the indices have another rank");
    for (std::size_t i = 0; i < x.shape.size(); ++i)
      if (static_cast<std::int64_t>(i) != axis && x.shape[i] != indices.shape[i])
        fail_rule("the indices {} do not fit {}", to_string(indices.shape), to_string(x.shape));
    return require_shape(node, indices.shape);
  }
  ShapeVector shape(x.shape.begin(), x.shape.begin() + axis);
  shape.append(indices.shape.begin(), indices.shape.end());
  shape.append(x.shape.begin() + axis + 1, x.shape.end());
  require_shape(node, shape);
}

void verify_literal(const Literal& literal, DType dtype) {
  using Kind = Literal::Kind;
  const bool is_large = literal.kind == Kind::large_integer && dtype == u64 && literal.integer < 0;
  const Kind kind = is_floating(dtype) ? Kind::real
                    : dtype == boolean ? Kind::boolean
                    : is_large         ? Kind::large_integer
                                       : Kind::integer;
  require(literal.kind == kind, "the literal is not of the kind of {}", name(dtype));
  require(kind == Kind::real ? literal.integer == 0 : literal.real == 0,
          "the literal has two values");
  const bool is_single = dtype == f32 || dtype == c64;
  const bool is_rounded = !is_single || std::isnan(literal.real) ||
                          literal.real == static_cast<double>(static_cast<float>(literal.real));
  require(is_rounded, "the literal {} is not a value of f32", literal.real);
  const bool fits =
      is_floating(dtype) || wrap_to(dtype, integer_of(literal)) == integer_of(literal);
  require(fits, "the literal {} is not a value of {}", decimal_text(literal), name(dtype));
}

}  // namespace

void verify_structural(const Node& node) {
  require(!node.operands.empty(), "there is no operand");
  const Node& x = *node.operand(0);
  const bool is_cast = node.op == Op::cast || node.op == Op::bitcast;
  require_dtype("the dtype", node.dtype, is_cast ? attribute(node, "to").dtype : x.dtype);
  if (node.op == Op::bitcast)
    require(size_of(node.dtype) == size_of(x.dtype), "{} and {} differ in size", name(node.dtype),
            name(x.dtype));
  if (node.op == Op::concat) return verify_concat(node);
  if (node.op == Op::take || node.op == Op::take_along_axis) return verify_take(node, x);
  if (node.op == Op::scatter) return verify_scatter(node, x);
  require_operands(node, 1);
  switch (node.op) {
    case Op::cast:
    case Op::bitcast: return require_shape(node, x.shape);
    case Op::permute: return verify_permute(node, x);
    case Op::broadcast_to: return verify_broadcast(node, x);
    case Op::slice: return verify_slice(node, x);
    case Op::flip: return verify_flip(node, x);
    case Op::as_strided: return verify_as_strided(node, x);
    case Op::unfold: return verify_unfold(node, x);
    case Op::reshape:
      require_shape(node, attribute(node, "shape").extents);
      if (product(node.shape) != product(x.shape))
        fail_rule("{} has {} elements, expected the {} of {}", to_string(node.shape),
                  to_string(product(node.shape)), to_string(product(x.shape)), to_string(x.shape));
      return;
    default: throw RuleViolation{"no rule for this op"};
  }
}

void verify_source(const GraphData& graph, const Node& node) {
  require_operands(node, 0);
  switch (node.op) {
    case Op::input:
    case Op::scalar: {
      const std::int64_t index = attribute(node, "index").integer;
      require(index >= 0 && index < static_cast<std::int64_t>(graph.inputs.size()) &&
                  graph.inputs[static_cast<std::size_t>(index)].node == &node,
              "the graph's input {} is another node", index);
      if (node.op == Op::scalar) return require_shape(node, {});
      const std::size_t strides = attribute(node, "strides").extents.size();
      return require(strides == 0 || strides == node.shape.size(), "{} strides for rank {}",
                     strides, node.rank());
    }
    case Op::constant:
      verify_literal(attribute(node, "value").literal, node.dtype);
      return require_shape(node, {});
    case Op::full:
      require_dtype("the dtype", node.dtype, attribute(node, "dtype").dtype);
      verify_literal(attribute(node, "value").literal, node.dtype);
      return require_shape(node, attribute(node, "shape").extents);
    case Op::iota: {
      require_dtype("the dtype", node.dtype, attribute(node, "dtype").dtype);
      require(is_integer(node.dtype), "iota does not give {}", name(node.dtype));
      const Extent extent = attribute(node, "extent").extent;
      return require_shape(node, {&extent, 1});
    }
    case Op::size:
      require_dtype("the dtype", node.dtype, attribute(node, "dtype").dtype);
      require(node.dtype != boolean, "size does not give bool");
      return require_shape(node, {});
    default: throw RuleViolation{"no rule for this op"};
  }
}

}  // namespace sinter
