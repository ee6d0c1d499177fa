#include "compiler/simplify/simplify_structure.h"

#include "compiler/simplify/fold.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/record/record.h"

#include <algorithm>
#include <cmath>

namespace sinter {

namespace {

/// True if `to` can represent every value of `from`.
bool holds_all(DType to, DType from) {
  if (to == from || from == boolean) return true;
  if (to == c64 || from == c64) return from == f32;
  if (is_integer(from) && is_integer(to))
    return size_of(to) > size_of(from) && (is_signed(to) || is_unsigned(from));
  if (is_integer(from)) return info(to).mantissa_bits >= 8 * size_of(from);
  if (!is_floating(to)) return false;
  return info(to).mantissa_bits >= info(from).mantissa_bits &&
         info(to).min_exponent <= info(from).min_exponent &&
         info(to).max_exponent >= info(from).max_exponent;
}

/// True if casting via `between`, which can represent all values of `from`, gives the same result
/// as a direct cast.
bool is_same_directly(DType from, DType between, DType to) {
  // A cast from floating point saturates, and a cast between integers wraps.
  return !(is_integer(from) && is_floating(between) && is_integer(to)) || holds_all(to, from);
}

const Node* merge_casts(GraphData& graph, const Node* node) {
  const Node* inner = node->operand(0);
  if (inner->op != Op::cast) return node;
  const Node* from = inner->operand(0);
  if (!holds_all(inner->dtype, from->dtype) ||
      !is_same_directly(from->dtype, inner->dtype, node->dtype))
    return node;
  return cast(operand_at(graph, from, node), node->dtype).node();
}

const Node* merge_permutes(GraphData& graph, const Node* node) {
  const Node* inner = node->operand(0);
  if (inner->op != Op::permute) return node;
  const std::span<const std::int64_t> first = attribute(*inner, "axes").integers;
  AxesVector axes;
  for (const std::int64_t axis : attribute(*node, "axes").integers)
    axes.push_back(first[static_cast<std::size_t>(axis)]);
  const std::span<const std::int64_t> view = axes;
  return permute(operand_at(graph, inner->operand(0), node), Axes(view)).node();
}

const Node* merge_slices(GraphData& graph, const Node* node) {
  const Node* inner = node->operand(0);
  if (inner->op != Op::slice) return node;
  const std::int64_t axis = attribute(*node, "axis").integer;
  if (attribute(*inner, "axis").integer != axis) return node;
  const std::int64_t step = attribute(*inner, "step").integer;
  const std::int64_t both = step * attribute(*node, "step").integer;
  const Extent start = attribute(*inner, "begin").extent;
  const Extent begin = start + attribute(*node, "begin").extent * Extent(step);
  Extent end = start + attribute(*node, "end").extent * Extent(step);
  const Extent whole = inner->operand(0)->shape[static_cast<std::size_t>(axis)];
  // With a step, the product may exceed the extent by less than one step.
  if (step != 1 && !(end.is_number() && whole.is_number())) return node;
  if (step != 1) end = std::min(end.number(), whole.number());
  const Node* result = slice(operand_at(graph, inner->operand(0), node), static_cast<int>(axis),
                             begin, end, static_cast<int>(both))
                           .node();
  // The same symbolic extent may have two forms.
  return std::ranges::equal(result->shape, node->shape) ? result : node;
}

/// Skips the inner of two nested reshapes or broadcast_tos; the outer one alone determines the
/// result.
const Node* skip_inner(GraphData& graph, const Node* node) {
  const Node* inner = node->operand(0);
  if (inner->op != node->op) return node;
  const Operand from = operand_at(graph, inner->operand(0), node);
  return node->op == Op::reshape ? reshape(from, node->shape).node()
                                 : broadcast_to(from, node->shape).node();
}

/// The operand of a broadcast, or the number of a `full` as a value of rank 0. The number has the
/// compute type if another operand determines the dtype.
const Node* narrowed(GraphData& graph, const Node* operand, bool has_dtype_without) {
  if (operand->op == Op::broadcast_to) return operand->operand(0);
  const DType dtype = has_dtype_without ? info(operand->dtype).compute : operand->dtype;
  return make_uniform(graph, {}, *uniform_value(*operand), dtype, graph.location(operand));
}

/// True if an operand other than `except` is no number and has the dtype of `except`.
bool has_dtype_without(std::span<const Node* const> operands, std::size_t except) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (i != except && operands[i]->dtype == operands[except]->dtype && !is_uniform(*operands[i]))
      return true;
  return false;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::fabs(std::frexp(value, &exponent)) == 0.5;
}

}  // namespace

const Node* merge_chain(GraphData& graph, const Node* node) {
  switch (node->op) {
    case Op::cast: return merge_casts(graph, node);
    case Op::permute: return merge_permutes(graph, node);
    case Op::slice: return merge_slices(graph, node);
    case Op::reshape:
    case Op::broadcast_to: return skip_inner(graph, node);
    default: return node;
  }
}

const Node* permute_outside(GraphData& graph, const Node* node) {
  if (node->op != Op::concat) return node;
  const auto first = std::ranges::find(node->operands, Op::permute, &Node::op);
  if (first == node->operands.end()) return node;
  const std::span<const std::int64_t> axes = attribute(**first, "axes").integers;
  const std::int64_t along = axes[static_cast<std::size_t>(attribute(*node, "axis").integer)];
  std::vector<Operand> operands;
  for (const Node* operand : node->operands) {
    if (operand->op == Op::permute &&
        std::ranges::equal(attribute(*operand, "axes").integers, axes))
      operands.push_back(operand_at(graph, operand->operand(0), node));
    else if (const std::optional<Literal> number = uniform_value(*operand)) {
      ShapeVector shape(operand->shape.begin(), operand->shape.end());
      for (std::size_t axis = 0; axis < axes.size(); ++axis)
        shape[static_cast<std::size_t>(axes[axis])] = operand->shape[axis];
      operands.push_back(operand_at(
          graph, make_uniform(graph, shape, *number, operand->dtype, graph.location(operand)),
          node));
    } else {
      return node;
    }
  }
  const Node* inner = concat(operands, static_cast<int>(along)).node();
  return permute(operand_at(graph, inner, node), Axes(axes)).node();
}

const Node* plain_operands(GraphData& graph, const Node* node) {
  if (!is_elementwise(node->op)) return node;
  llvm::SmallVector<const Node*, 3> operands(node->operands.begin(), node->operands.end());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Node* const before = operands[i];
    if (before->op != Op::broadcast_to && before->op != Op::full) continue;
    operands[i] = narrowed(graph, before, has_dtype_without(operands, i));
    if (operands[i] == before) continue;
    const ShapeVector shape = broadcast_shapes(info(node->op).name, operands, graph.location(node));
    if (!std::ranges::equal(shape, node->shape)) operands[i] = before;
  }
  const bool commutes = info(node->op).traits & Commutative;
  if (commutes && is_uniform(*operands[0]) && !is_uniform(*operands[1]))
    std::swap(operands[0], operands[1]);
  return with_operands(graph, *node, operands);
}

const Node* divide_by_power_of_two(GraphData& graph, const Node* node) {
  if (node->op != Op::div) return node;
  const std::optional<Literal> divisor = uniform_value(*node->operand(1));
  if (!divisor || !is_power_of_two(divisor->real)) return node;
  const DType dtype = node->operand(1)->dtype;
  const double reciprocal = 1 / divisor->real;
  const bool is_normal = std::fabs(reciprocal) >= std::ldexp(1.0, info(dtype).min_exponent) &&
                         std::fabs(reciprocal) <= std::ldexp(1.0, info(dtype).max_exponent);
  if (!is_normal) return node;
  const Node* factor =
      make_uniform(graph, node->operand(1)->shape,
                   {.kind = Literal::Kind::real, .real = reciprocal}, dtype, graph.location(node));
  const Node* const operands[] = {node->operand(0), factor};
  return graph.make(
      {.op = Op::mul, .dtype = node->dtype, .operands = operands, .shape = node->shape},
      graph.location(node));
}

const Node* view_of_same(GraphData& graph, const Node* node) {
  if (!is_elementwise(node->op) && node->op != Op::cast) return node;
  const Node* view = nullptr;
  llvm::SmallVector<const Node*, 3> operands;
  for (const Node* operand : node->operands) {
    operands.push_back(operand);
    if (operand->shape.empty()) continue;
    if (view || (operand->op != Op::permute && operand->op != Op::reshape)) return node;
    view = operand;
    operands.back() = operand->operand(0);
  }
  if (!view || !std::ranges::equal(view->shape, node->shape)) return node;
  const Node* same = graph.find({.op = node->op,
                                 .dtype = node->dtype,
                                 .operands = operands,
                                 .shape = view->operand(0)->shape,
                                 .attributes = node->attributes});
  if (!same) return node;
  return graph.make({.op = view->op,
                     .dtype = node->dtype,
                     .operands = {&same, 1},
                     .shape = view->shape,
                     .attributes = view->attributes},
                    graph.location(node));
}

}  // namespace sinter
