// Recording of elementwise ops, and helpers of all recording functions.
#include "ir/record/record.h"

#include "ir/types/casts.h"

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

std::vector<Operand> operands_of(std::span<const Tensor> tensors, Location location) {
  std::vector<Operand> operands;
  for (const Tensor tensor : tensors) operands.emplace_back(tensor, location.file, location.line);
  return operands;
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

const Node& node_of(std::string_view op, const Operand& x) {
  graph_of(op, x);
  return *x.tensor.node();
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

AxesVector checked_axes(std::string_view op, std::span<const std::int64_t> axes, const Node& x,
                        Location location) {
  AxesVector result;
  for (const std::int64_t axis : axes) {
    const std::int64_t checked = checked_axis(op, axis, x, location);
    if (std::ranges::find(result, checked) != result.end())
      fail(op, fmt::format("axis {} is repeated in [{}]", axis, fmt::join(axes, ", ")), location);
    result.push_back(checked);
  }
  return result;
}

Extent checked_index(std::string_view op, Extent index, std::size_t axis, const Node& x,
                     Location location) {
  const Extent extent = x.shape[axis];
  const Extent from_front = provably_negative(index) ? extent + index : index;
  if (provably_negative(from_front) || provably_less(extent - Extent(1), from_front))
    fail(op,
         fmt::format("index {} is out of range for axis {} of {}; it must be in [{}, {})",
                     to_string(index), axis, type_text(x), to_string(Extent(0) - extent),
                     to_string(extent)),
         location);
  return from_front;
}

bool is_too_large(std::span<const Extent> shape) {
  // Far below 2^63, so that strides and byte offsets cannot overflow.
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;
  std::int64_t size = 1;
  for (const Extent extent : shape) {
    if (!extent.is_number()) continue;
    if (extent.is(0)) return false;
    if (extent.number() > kMaxElements / size) return true;
    size *= extent.number();
  }
  return false;
}

void check_size(std::string_view op, std::span<const Extent> shape, Location location) {
  if (is_too_large(shape))
    fail(op, fmt::format("{} has more than 2^60 elements", to_string(shape)), location);
}

namespace {

/// The dtype of a number by its kind.
DType dtype_of(const Literal& literal) {
  switch (literal.kind) {
    case Literal::Kind::boolean: return boolean;
    case Literal::Kind::integer: return i64;
    case Literal::Kind::large_integer: return u64;
    case Literal::Kind::real: break;
  }
  return f32;
}

/// `literal` as a value of an integer dtype or bool. Throws UserError if the dtype does not have
/// it.
Literal integer_value(std::string_view op, const Literal& literal, DType dtype, Location location) {
  const bool is_real = literal.kind == Literal::Kind::real;
  const bool is_whole =
      !is_real || (std::trunc(literal.real) == literal.real && std::fabs(literal.real) < 0x1p64);
  if (!is_whole)
    fail(op,
         fmt::format("the number {} is not a value of {}; cast the Tensor or write a whole number",
                     literal.real, name(dtype)),
         location);
  const Wide value = is_real ? static_cast<Wide>(literal.real) : integer_of(literal);
  if (value < lowest_integer(dtype) || value > highest_integer(dtype))
    fail(op, fmt::format("the number {} is not a value of {}", decimal_text(literal), name(dtype)),
         location);
  return integer_literal(value, dtype);
}

}  // namespace

const Node* constant(GraphData& graph, std::string_view op, const Literal& literal, DType dtype,
                     Location location) {
  Attribute value;
  if (is_floating(dtype)) {
    // Canonical form: 1, 1.0 and true are the same constant of a floating dtype.
    double real = as_real(literal);
    if (dtype == f32 || dtype == c64) real = static_cast<float>(real);
    if (std::isnan(real)) real = std::numeric_limits<double>::quiet_NaN();
    value.literal = {.kind = Literal::Kind::real, .integer = 0, .real = real};
  } else {
    value.literal = integer_value(op, literal, dtype, location);
  }
  return graph.make(
      {.op = Op::constant, .dtype = dtype, .operands = {}, .shape = {}, .attributes = {&value, 1}},
      location);
}

Tensor as_tensor(std::string_view op, GraphData& graph, const Operand& operand, DType dtype) {
  if (!operand.is_literal()) return cast(operand, dtype);
  return tensor(graph, constant(graph, op, operand.literal, dtype, operand.location));
}

DType common_dtype(std::string_view op, OperandRefs operands) {
  const Node* first = nullptr;
  DType common = boolean;
  for (const Operand* ref : operands) {
    if (ref->is_literal()) continue;
    const Node* node = ref->tensor.node();
    const std::optional<DType> both =
        first ? sinter::common_dtype(common, node->dtype) : node->dtype;
    if (!both)
      fail(op,
           fmt::format("{} and {} have no dtype in common; cast one of them", type_text(*first),
                       type_text(*node)),
           ref->location);
    if (!first) first = node;
    common = *both;
  }
  for (const Operand* ref : operands) {
    if (!ref->is_literal()) continue;
    const DType number = dtype_of(ref->literal);
    const bool is_wider_kind =
        number != boolean && !is_floating(common) && (common == boolean || is_floating(number));
    if (is_wider_kind) common = *sinter::common_dtype(common, number);
  }
  return common;
}

namespace {

/// The dtype to which an op with `rule` casts operands of the common dtype `dtype`.
DType cast_dtype(TypeRule rule, DType dtype) {
  if (rule == TypeRule::Float && !is_floating(dtype)) return f32;
  if (rule == TypeRule::Random && is_integer(dtype)) return u64;
  if (rule == TypeRule::Logical && dtype != c64) return boolean;
  return dtype;
}

void check_dtype(std::string_view op, TypeRule rule, DType dtype, Location location) {
  if (!supports_dtype(rule, dtype))
    fail(op, fmt::format("takes {} operands, not {}; cast them", dtypes_text(rule), name(dtype)),
         location);
}

/// The node of an operand, cast to `dtype`. A number becomes a constant of the compute dtype.
const Node* cast_operand(GraphData& graph, std::string_view op, const Operand& operand,
                         DType dtype) {
  if (operand.is_literal()) {
    const Literal& literal = operand.literal;
    const Literal truth = {
        .kind = Literal::Kind::boolean, .integer = as_real(literal) != 0, .real = 0};
    return constant(graph, op, dtype == boolean ? truth : literal, info(dtype).compute,
                    operand.location);
  }
  return operand.tensor.dtype() == dtype ? operand.tensor.node() : cast(operand, dtype).node();
}

/// The logical op that replaces a bitwise op for bool.
Op logical_op(Op op) {
  switch (op) {
    case Op::bitwise_not: return Op::logical_not;
    case Op::bitwise_and: return Op::logical_and;
    case Op::bitwise_or: return Op::logical_or;
    case Op::bitwise_xor: return Op::logical_xor;
    default: return op;
  }
}

}  // namespace

Tensor record_unary(Op op, const Operand& x, DType dtype, std::span<const Extent> shape,
                    std::initializer_list<Attribute> attributes) {
  const Node* const node = x.tensor.node();
  return record_node(*x.tensor.graph(), op, dtype, {&node, 1}, shape,
                     std::span<const Attribute>(attributes.begin(), attributes.size()), x.location);
}

Tensor record_elementwise(Op op, OperandRefs operands) {
  const std::string_view op_name = info(op).name;
  GraphData& graph = graph_of(op_name, operands);
  const Location location = operands[0]->location;

  OperandRefs values = operands;
  llvm::SmallVector<const Node*, 3> nodes;
  if (op == Op::where) {
    nodes.push_back(cast_operand(graph, op_name, *operands[0], boolean));
    values = operands.subspan(1);
  }
  const DType common = common_dtype(op_name, values);
  if (common == boolean) op = logical_op(op);
  const OpInfo& row = info(op);
  const DType dtype = cast_dtype(row.types, common);
  check_dtype(row.name, row.types, dtype, location);
  for (const Operand* value : values) nodes.push_back(cast_operand(graph, row.name, *value, dtype));

  const DType result = result_dtype(row.types, dtype);
  // Usually, an operand has the shape of the result; the result then shares it.
  const Node* widest = nodes[0];
  for (const Node* node : nodes)
    if (node->rank() > widest->rank() || (node->rank() == widest->rank() && is_constant(*widest)))
      widest = node;
  const bool same = std::ranges::all_of(nodes, [&](const Node* node) {
    return node->shape.data() == widest->shape.data() || node->rank() == 0 ||
           std::ranges::equal(node->shape, widest->shape);
  });
  if (same) return record_node(graph, op, result, nodes, widest->shape, {}, location);
  const ShapeVector shape = broadcast_shapes(row.name, nodes, location);
  check_size(row.name, shape, location);
  return record_node(graph, op, result, nodes, shape, {}, location);
}

// clang-format off
#define UNARY(NAME, ...)   Tensor NAME(Operand a) { const Operand* const operands[] = {&a}; return record_elementwise(Op::NAME, OperandRefs(operands)); }
#define BINARY(NAME, ...)  Tensor NAME(Operand a, Operand b) { const Operand* const operands[] = {&a, &b}; return record_elementwise(Op::NAME, OperandRefs(operands)); }
#define TERNARY(NAME, ...) Tensor NAME(Operand a, Operand b, Operand c) { const Operand* const operands[] = {&a, &b, &c}; return record_elementwise(Op::NAME, OperandRefs(operands)); }
#include "sinter/ops.def"
// clang-format on

}  // namespace sinter
