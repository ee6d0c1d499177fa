// Interprets nodes in order and reads inputs and constants.
#include "ir/oracle/interpret.h"

#include "ir/collectives/collective_node.h"
#include "ir/oracle/interpret_ops.h"
#include "ir/shape/extent.h"
#include "ir/shape/strided_iterator.h"
#include "ir/types/casts.h"
#include "ir/verify/symbol_sizes.h"
#include "sinter/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

Expected make_expected(DType dtype, std::vector<std::int64_t> shape, bool with_bounds) {
  Expected result{.dtype = dtype, .shape = std::move(shape)};
  const auto count = static_cast<std::size_t>(element_count(result.shape));
  if (is_floating(dtype))
    result.reals.resize(count);
  else
    result.integers.resize(count);
  if (with_bounds) result.bounds.resize(count);
  return result;
}

Expected from_array(const HostArray& array) {
  Expected result =
      make_expected(array.dtype(), {array.shape().begin(), array.shape().end()}, false);
  StridedIterator iterator(array.shape(), {{array.strides().begin(), array.strides().end()}});
  for (double& real : result.reals) {
    real = array.real_at(iterator.offset(0));
    iterator.next();
  }
  for (std::int64_t& integer : result.integers) {
    integer = array.integer_at(iterator.offset(0));
    iterator.next();
  }
  return result;
}

void drop_exact_bounds(Expected& value) {
  if (std::ranges::all_of(value.bounds, [](double bound) { return bound == 0; })) value.bounds = {};
}

bool has_bounds(std::span<const Expected* const> operands) {
  return std::ranges::any_of(operands,
                             [](const Expected* operand) { return !operand->bounds.empty(); });
}

namespace {

/// The contents of an input or scalar. Throws UserError if it is missing or has another dtype or
/// shape than the graph declares.
Expected read_input(const InputInfo& input, const HostArrays& inputs,
                    std::span<const std::int64_t> symbols) {
  const auto found = inputs.find(input.name);
  if (found == inputs.end())
    throw UserError(fmt::format("input {}: it is not given; the graph says {}", input.name,
                                type_text(*input.node)));
  const HostArray& array = found->second;
  const std::vector<std::int64_t> shape = evaluate_all(input.node->shape, symbols);
  if (array.dtype() != input.node->dtype || !std::ranges::equal(array.shape(), shape))
    throw UserError(
        fmt::format("input {}: the array is {}[{}] but the graph says {}, which is [{}]",
                    input.name, name(array.dtype()), fmt::join(array.shape(), ", "),
                    type_text(*input.node), fmt::join(shape, ", ")));
  return from_array(array);
}

void fill(Expected& result, const Literal& literal) {
  if (is_floating(result.dtype))
    std::ranges::fill(result.reals, round_to(result.dtype, as_real(literal)));
  else if (literal.kind == Literal::Kind::real)
    std::ranges::fill(result.integers,
                      to_storage_bits(cast_to_integer(result.dtype, literal.real)));
  else
    std::ranges::fill(result.integers, to_storage_bits(wrap_to(result.dtype, integer_of(literal))));
}

void fill_iota(Expected& result, const Node& node) {
  const auto start = static_cast<std::uint64_t>(attribute(node, "start").integer);
  const auto step = static_cast<std::uint64_t>(attribute(node, "step").integer);
  for (std::size_t i = 0; i < result.integers.size(); ++i)
    result.integers[i] = to_storage_bits(
        wrap_to(result.dtype, static_cast<Wide>(start + static_cast<std::uint64_t>(i) * step)));
}

Expected interpret_source(const GraphData& graph, const HostArrays& inputs,
                          const NodeEvaluation& evaluation) {
  const Node& node = evaluation.node;
  if (node.op == Op::input || node.op == Op::scalar) {
    const auto input = std::ranges::find(graph.inputs, &node, &InputInfo::node);
    ensure(input != graph.inputs.end(), "an input node is one of the graph's inputs");
    return read_input(*input, inputs, evaluation.symbols);
  }
  Expected result = make_expected(node.dtype, evaluation.shape, false);
  switch (node.op) {
    case Op::constant:
    case Op::full: fill(result, attribute(node, "value").literal); break;
    case Op::iota: fill_iota(result, node); break;
    case Op::size:
      fill(result, {.kind = Literal::Kind::integer,
                    .integer = evaluate(attribute(node, "extent").extent, evaluation.symbols),
                    .real = 0});
      break;
    default: throw InternalError(fmt::format("interpret: unknown source {}", info(node.op).name));
  }
  return result;
}

[[noreturn]] void fail_several_ranks(const GraphData& graph, const Node& node) {
  throw UserError(
      fmt::format("{}: the oracle interprets one rank, but group {} has {}; interpret_ranks takes "
                  "the inputs of every rank (recorded at {})",
                  info(node.op).name, group_of(node), ranks_of(node), graph.location_text(&node)));
}

}  // namespace

Expected interpret_node(const GraphData& graph, const HostArrays& inputs,
                        const NodeEvaluation& evaluation) {
  switch (info(evaluation.node.op).kind) {
    case OpKind::elementwise: return interpret_elementwise(evaluation);
    case OpKind::reduction: return interpret_reduction(evaluation);
    case OpKind::scan: return interpret_scan(evaluation);
    case OpKind::custom: return interpret_custom(graph, evaluation);
    case OpKind::opaque: return interpret_opaque(graph, evaluation);
    case OpKind::library:
      if (is_collective(evaluation.node.op)) fail_several_ranks(graph, evaluation.node);
      return interpret_opaque(graph, evaluation);
    case OpKind::structural:
      if (evaluation.node.op == Op::cast || evaluation.node.op == Op::bitcast)
        return interpret_cast(evaluation);
      return interpret_structural(evaluation);
    case OpKind::source: return interpret_source(graph, inputs, evaluation);
  }
  throw InternalError("interpret: unknown kind of op");
}

namespace {

/// By node id: the number of needed nodes that read the node, plus 1 per occurrence in `wanted`. 0
/// for nodes that are not needed.
std::vector<int> count_readers(const GraphData& graph, std::span<const Node* const> wanted) {
  std::vector<int> readers(graph.nodes.size());
  for (const Node* node : wanted) ++readers[node->id];
  for (std::size_t id = graph.nodes.size(); id-- > 0;)
    if (readers[id] > 0)
      for (const Node* operand : graph.nodes[id]->operands) ++readers[operand->id];
  return readers;
}

}  // namespace

std::vector<Expected> interpret_nodes(const GraphData& graph, const HostArrays& inputs,
                                      std::span<const std::int64_t> symbols,
                                      std::span<const Node* const> nodes) {
  check_sizes(graph, symbols);
  std::vector<int> readers = count_readers(graph, nodes);
  std::vector<Expected> values(graph.nodes.size());
  for (const Node* node : graph.nodes) {
    if (readers[node->id] == 0) continue;
    std::vector<const Expected*> operands;
    for (const Node* operand : node->operands) operands.push_back(&values[operand->id]);
    values[node->id] = interpret_node(graph, inputs,
                                      {.node = *node,
                                       .operands = operands,
                                       .shape = evaluate_all(node->shape, symbols),
                                       .symbols = symbols});
    // Large graphs have thousands of values, so each is freed after its last reader.
    for (const Node* operand : node->operands)
      if (--readers[operand->id] == 0) values[operand->id] = {};
  }
  std::vector<Expected> results;
  for (const Node* node : nodes) results.push_back(values[node->id]);
  return results;
}

Interpretation collect_results(const GraphData& graph,
                               const std::function<Expected(const Node*)>& value) {
  Interpretation result;
  for (const OutputInfo& output : graph.outputs)
    result.outputs.emplace(output.name, value(output.node));
  for (const UpdateInfo& update : graph.updates) {
    const auto parameter = std::ranges::find(graph.inputs, update.parameter, &InputInfo::node);
    ensure(parameter != graph.inputs.end(), "an updated node is one of the graph's inputs");
    result.updates.emplace(parameter->name, value(update.value));
  }
  return result;
}

Interpretation interpret(const GraphData& data, const HostArrays& inputs,
                         std::span<const std::int64_t> symbols) {
  std::vector<const Node*> nodes;
  for (const OutputInfo& output : data.outputs) nodes.push_back(output.node);
  for (const UpdateInfo& update : data.updates) nodes.push_back(update.value);
  std::vector<Expected> values = interpret_nodes(data, inputs, symbols, nodes);
  std::size_t next = 0;
  return collect_results(data, [&](const Node*) { return std::move(values[next++]); });
}

HostArray to_array(const Expected& value) {
  HostArray result(value.dtype, value.shape);
  for (std::int64_t i = 0; i < value.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_floating(value.dtype))
      result.set_real_at(i, value.reals[at]);
    else
      result.set_integer_at(i, value.integers[at]);
  }
  return result;
}

}  // namespace sinter
