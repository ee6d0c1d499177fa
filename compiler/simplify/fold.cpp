#include "compiler/simplify/fold.h"

#include "compiler/simplify/graph_sweep.h"
#include "ir/ops/evaluate_op.h"
#include "ir/types/casts.h"
#include "sinter/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter {

namespace {

Literal real_literal(double value) {
  // Sign and payload of a NaN are unspecified. One canonical NaN makes equal values equal nodes.
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return {.kind = Literal::Kind::real, .real = value};
}

/// The exact value of a literal of any kind.
long double exact_real(const Literal& literal) {
  if (literal.kind == Literal::Kind::real) return literal.real;
  return static_cast<long double>(integer_of(literal));
}

using Literals = llvm::SmallVector<Literal, 3>;

/// The numbers of all operands; nullopt if one is not known.
std::optional<Literals> uniform_operands(const Node& node) {
  if (!std::ranges::all_of(node.operands, [](const Node* operand) { return is_uniform(*operand); }))
    return std::nullopt;
  Literals result;
  for (const Node* operand : node.operands) result.push_back(*uniform_value(*operand));
  return result;
}

std::optional<Literal> apply(const Node& node) {
  const OpInfo& row = info(node.op);
  // Ops with a nonzero ulp give the bits of the device's library, which are not known here.
  if (row.ulp != 0) return std::nullopt;
  const std::optional<Literals> operands = uniform_operands(node);
  if (!operands) return std::nullopt;
  // The last operand decides, because the first operand of a `where` is a condition.
  if (operands->back().kind != Literal::Kind::real) {
    llvm::SmallVector<Wide, 3> values;
    for (const Literal& operand : *operands) values.push_back(integer_of(operand));
    const int width = width_of(node.operands.back()->dtype);
    return integer_literal(wrap_to(node.dtype, row.host_integer(values, width)), node.dtype);
  }
  llvm::SmallVector<long double, 3> values;
  for (const Literal& operand : *operands) values.push_back(exact_real(operand));
  if (is_floating(node.dtype)) return real_literal(evaluate(row, values, node.dtype));
  return integer_literal(static_cast<std::int64_t>(row.host(values, node.dtype)), node.dtype);
}

bool is_nonempty(std::span<const Extent> shape) {
  return std::ranges::all_of(
      shape, [](Extent extent) { return extent.is_number() && extent.number() > 0; });
}

/// The common value of all operands of a structural op, which its result then has too.
std::optional<Literal> pass_on(const Node& node) {
  if (node.op == Op::bitcast || node.op == Op::scatter) return std::nullopt;
  const std::optional<Literal> value = uniform_value(*node.operand(0));
  if (!value || node.op == Op::cast) return value;
  const bool reads_indices = node.op == Op::take || node.op == Op::take_along_axis;
  // An index into an empty array is an error, which must show at run time.
  if (reads_indices) return is_nonempty(node.operand(0)->shape) ? value : std::nullopt;
  for (const Node* operand : node.operands.subspan(1)) {
    const std::optional<Literal> other = uniform_value(*operand);
    if (!other || !same_bits(*value, *other)) return std::nullopt;
  }
  return value;
}

/// The max or min of equal numbers is that number. A sum of them rounds, so it is not folded.
std::optional<Literal> reduce(const Node& node) {
  const bool is_extreme = node.op == Op::max || node.op == Op::min;
  if (!is_extreme || !is_nonempty(node.operand(0)->shape)) return std::nullopt;
  return uniform_value(*node.operand(0));
}

std::optional<Literal> source(const Node& node) {
  if (node.op == Op::full) return uniform_value(node);
  if (node.op != Op::size) return std::nullopt;
  const Extent extent = attribute(node, "extent").extent;
  if (!extent.is_number()) return std::nullopt;
  return cast_literal(integer_literal(extent.number(), i64), node.dtype);
}

std::optional<Literal> known_value(const Node& node) {
  switch (info(node.op).kind) {
    case OpKind::elementwise: return apply(node);
    case OpKind::structural: {
      const std::optional<Literal> value = pass_on(node);
      return value ? cast_literal(*value, node.dtype) : value;
    }
    case OpKind::reduction: return reduce(node);
    case OpKind::scan:
    case OpKind::opaque:
    case OpKind::library:
    case OpKind::custom: return std::nullopt;
    case OpKind::source: return source(node);
  }
  throw InternalError("fold: unknown kind of op");
}

}  // namespace

std::optional<Literal> uniform_value(const Node& node) {
  if (!is_uniform(node)) return std::nullopt;
  const Literal& literal = attribute(node, "value").literal;
  // A recorded `full` of a half type keeps its number unrounded.
  return is_narrow(node.dtype) ? cast_literal(literal, node.dtype) : literal;
}

Literal cast_literal(const Literal& literal, DType to) {
  if (is_floating(to)) return real_literal(round_to(to, exact_real(literal)));
  if (literal.kind == Literal::Kind::real)
    return integer_literal(cast_to_integer(to, literal.real), to);
  return integer_literal(wrap_to(to, integer_of(literal)), to);
}

const Node* make_uniform(GraphData& graph, std::span<const Extent> shape, const Literal& literal,
                         DType dtype, Location location) {
  const Attribute value = {.literal = literal};
  if (shape.empty() && !is_narrow(dtype))
    return graph.make({.op = Op::constant,
                       .dtype = dtype,
                       .operands = {},
                       .shape = {},
                       .attributes = {&value, 1}},
                      location);
  const Attribute attributes[] = {{.extents = shape}, value, {.dtype = dtype}};
  return graph.make(
      {.op = Op::full, .dtype = dtype, .operands = {}, .shape = shape, .attributes = attributes},
      location);
}

const Node* fold_node(GraphData& graph, const Node* node) {
  const std::optional<Literal> value = known_value(*node);
  if (!value) return node;
  return make_uniform(graph, node->shape, *value, node->dtype, graph.location(node));
}

bool fold(GraphData& graph) {
  return rewrite(graph, [&](const Node* node) { return fold_node(graph, node); });
}

}  // namespace sinter
