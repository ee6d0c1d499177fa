#include "ir/record.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace sinter {

void fail(std::string_view op, std::string_view message, Location location) {
  throw UserError(fmt::format("{}: {} (recorded at {})", op, message, to_string(location)));
}

llvm::SmallVector<const Operand*, 4> refs_to(std::span<const Operand> operands) {
  llvm::SmallVector<const Operand*, 4> refs;
  for (const Operand& operand : operands) refs.push_back(&operand);
  return refs;
}

GraphData& graph_of(std::string_view op, OperandRefs operands) {
  GraphData* graph = nullptr;
  for (const Operand* ref : operands) {
    const Operand& operand = *ref;
    if (operand.is_literal()) continue;
    if (graph && graph != operand.tensor.graph())
      fail(op,
           fmt::format("the operands belong to two graphs, {} and {}; record one program in one "
                       "Graph",
                       graph->name, operand.tensor.graph()->name),
           operand.location);
    graph = operand.tensor.graph();
  }
  if (!graph)
    fail(op, "every operand is a number; at least one must be a Tensor", operands[0]->location);
  return *graph;
}

GraphData& graph_of(std::string_view op, const Operand& x) {
  const Operand* const ref = &x;
  return graph_of(op, OperandRefs(&ref, 1));
}

std::int64_t checked_axis(std::string_view op, std::int64_t axis, const Node& x,
                          Location location) {
  const std::int64_t rank = x.rank();
  if (axis < -rank || axis >= rank)
    fail(op,
         fmt::format("axis {} is out of range for {} of rank {}; it must be in [{}, {})", axis,
                     type_text(x), rank, -rank, rank),
         location);
  return axis < 0 ? axis + rank : axis;
}

void check_size(std::string_view op, std::span<const Extent> shape, Location location) {
  // Far below 2^63 so that strides and byte offsets cannot overflow either.
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  std::int64_t size = 1;
  for (const Extent extent : shape) {
    if (!extent.is_number()) continue;
    if (extent.is(0)) return;
    if (extent.number() > kMost / size)
      fail(op, fmt::format("{} has more than 2^60 elements", to_string(shape)), location);
    size *= extent.number();
  }
}

ShapeVector broadcast_shapes(std::string_view op, std::span<const Node* const> operands,
                             Location location) {
  ShapeVector result(operands[0]->shape.begin(), operands[0]->shape.end());
  for (std::size_t n = 1; n < operands.size(); ++n) {
    const std::span<const Extent> shape = operands[n]->shape;
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    const std::size_t shift = result.size() - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Extent& so_far = result[shift + axis];
      if (so_far == shape[axis] || shape[axis].is(1)) continue;
      if (!so_far.is(1))
        fail(op,
             fmt::format("{} and {} do not broadcast: axis {} is {} and {}",
                         to_string(n == 1 ? operands[0]->shape : std::span<const Extent>(result)),
                         to_string(shape), shift + axis, to_string(so_far), to_string(shape[axis])),
             location);
      so_far = shape[axis];
    }
  }
  return result;
}

const Node* constant(GraphData& graph, std::string_view op, const Literal& literal, DType dtype,
                     Location location) {
  Attribute value;
  if (is_floating(dtype)) {
    // One form per value: 1, 1.0 and true are the same constant of a floating dtype.
    double real = as_real(literal);
    if (dtype == f32) real = static_cast<float>(real);
    if (std::isnan(real)) real = std::numeric_limits<double>::quiet_NaN();
    value.literal = {.kind = Literal::Kind::real, .integer = 0, .real = real};
  } else {
    const bool fits =
        literal.kind != Literal::Kind::real ||
        (std::trunc(literal.real) == literal.real && std::fabs(literal.real) < 0x1p63);
    if (!fits)
      fail(op,
           fmt::format("the number {} has no value in {}; cast the Tensor or write a whole number",
                       literal.real, name(dtype)),
           location);
    const std::int64_t integer = literal.kind == Literal::Kind::real
                                     ? static_cast<std::int64_t>(literal.real)
                                     : literal.integer;
    const bool in_range = dtype == i64 ||
                          (dtype == i32 && integer == static_cast<std::int32_t>(integer)) ||
                          (dtype == boolean && (integer == 0 || integer == 1));
    if (!in_range)
      fail(op, fmt::format("the number {} has no value in {}", integer, name(dtype)), location);
    value.literal = {.kind = dtype == boolean ? Literal::Kind::boolean : Literal::Kind::integer,
                     .integer = integer,
                     .real = 0};
  }
  return graph.make(
      {.op = Op::constant, .dtype = dtype, .operands = {}, .shape = {}, .attributes = {&value, 1}},
      location);
}

namespace {

/// The dtype that all of `operands` but the numbers have.
DType common_dtype(std::string_view op, OperandRefs operands) {
  const Node* first = nullptr;
  for (const Operand* ref : operands) {
    const Operand& operand = *ref;
    if (operand.is_literal()) continue;
    const Node* node = operand.tensor.node();
    // A value that was itself recorded from numbers alone keeps its own dtype.
    if (first && first->dtype != node->dtype)
      fail(op,
           fmt::format("{} and {} have different dtypes; cast one of them", type_text(*first),
                       type_text(*node)),
           operand.location);
    if (!first) first = node;
  }
  if (first) return first->dtype;
  for (const Operand* operand : operands)
    if (operand->literal.kind == Literal::Kind::real) return f32;
  return operands[0]->literal.kind == Literal::Kind::boolean ? boolean : i64;
}

void check_dtype(std::string_view op, TypeRule rule, DType dtype, Location location) {
  const auto wants = [&](bool good, std::string_view what) {
    if (!good)
      fail(op, fmt::format("wants {} operands, not {}; cast them", what, name(dtype)), location);
  };
  switch (rule) {
    case TypeRule::Float: return wants(is_floating(dtype), "floating");
    case TypeRule::Number: return wants(dtype != boolean, "floating or integer");
    case TypeRule::Logical: return wants(dtype == boolean, "bool");
    case TypeRule::Compare:
    case TypeRule::Where: return;
  }
}

}  // namespace

Tensor record_elementwise(Op op, OperandRefs operands) {
  const OpInfo& row = info(op);
  GraphData& graph = graph_of(row.name, operands);
  const Location location = operands[0]->location;

  OperandRefs values = operands;
  llvm::SmallVector<const Node*, 3> nodes;
  if (row.types == TypeRule::Where) {
    const Operand& condition = *operands[0];
    if (!condition.is_literal() && condition.tensor.dtype() != boolean)
      fail(row.name,
           fmt::format("the condition is {}; compare it with a number to get bool",
                       type_text(*condition.tensor.node())),
           condition.location);
    nodes.push_back(condition.is_literal()
                        ? constant(graph, row.name, condition.literal, boolean, location)
                        : condition.tensor.node());
    values = operands.subspan(1);
  }
  const DType dtype = common_dtype(row.name, values);
  check_dtype(row.name, row.types, dtype, location);
  for (const Operand* value : values)
    nodes.push_back(value->is_literal() ? constant(graph, row.name, value->literal,
                                                   info(dtype).compute, value->location)
                                        : value->tensor.node());

  const DType result =
      row.types == TypeRule::Compare || row.types == TypeRule::Logical ? boolean : dtype;
  // The usual case, that an operand already has the result's shape, shares it.
  const Node* widest = nodes[0];
  for (const Node* node : nodes)
    if (node->rank() > widest->rank() || (node->rank() == widest->rank() && is_constant(*widest)))
      widest = node;
  const bool same = std::ranges::all_of(nodes, [&](const Node* node) {
    return node->shape.data() == widest->shape.data() || node->rank() == 0 ||
           std::ranges::equal(node->shape, widest->shape);
  });
  if (same)
    return tensor(graph,
                  graph.make({.op = op, .dtype = result, .operands = nodes, .shape = widest->shape},
                             location));
  const ShapeVector shape = broadcast_shapes(row.name, nodes, location);
  check_size(row.name, shape, location);
  return tensor(
      graph, graph.make({.op = op, .dtype = result, .operands = nodes, .shape = shape}, location));
}

// clang-format off
#define UNARY(NAME, ...)   Tensor NAME(Operand a) { const Operand* const operands[] = {&a}; return record_elementwise(Op::NAME, OperandRefs(operands)); }
#define BINARY(NAME, ...)  Tensor NAME(Operand a, Operand b) { const Operand* const operands[] = {&a, &b}; return record_elementwise(Op::NAME, OperandRefs(operands)); }
#define TERNARY(NAME, ...) Tensor NAME(Operand a, Operand b, Operand c) { const Operand* const operands[] = {&a, &b, &c}; return record_elementwise(Op::NAME, OperandRefs(operands)); }
#include "sinter/ops.def"
// clang-format on

}  // namespace sinter
