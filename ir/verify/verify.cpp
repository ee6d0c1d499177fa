// Verifies whole graphs: node identity, attributes, inputs, outputs and updates.
#include "ir/verify/verify.h"

#include "ir/text/print.h"
#include "ir/verify/verify_node.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

namespace sinter {

namespace {

void verify_extent(const GraphData& graph, Extent extent) {
  require(extent.is_number() || extent.expression()->table == graph.extents.get(),
          "an extent's symbols belong to another graph");
}

bool belongs(const GraphData& graph, const Node* node) {
  return node && node->id < graph.nodes.size() && graph.nodes[node->id] == node;
}

/// Only the field that the attribute's kind uses may be set. Other set fields would make equal
/// nodes distinct.
void verify_attribute(const GraphData& graph, const AttributeInfo& info, const Attribute& value) {
  using enum AttributeKind;
  const bool uses_integer = info.kind == integer || info.kind == boolean;
  constexpr Literal kNone;
  require((uses_integer || value.integer == 0) &&
              (info.kind == dtype || value.dtype == DType::f32) &&
              (info.kind == literal || same_bits(value.literal, kNone)) &&
              (info.kind == extent || value.extent.is(0)) &&
              (info.kind == integers || value.integers.empty()) &&
              (info.kind == extents || value.extents.empty()) &&
              (info.kind == string || value.text.empty()),
          "attribute {} has a value of another kind", info.name);
  require(info.kind != boolean || value.integer == 0 || value.integer == 1,
          "attribute {} is {}, expected 0 or 1", info.name, value.integer);
  verify_extent(graph, value.extent);
  for (const Extent extent : value.extents) verify_extent(graph, extent);
}

void verify_common(const GraphData& graph, const Node& node, std::size_t id) {
  require_same<std::size_t>("the id", node.id, id);
  require(static_cast<std::size_t>(node.op) < op_table().size(), "the op is not in the table");
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    require(belongs(graph, node.operand(i)), "operand {} is not a node of the graph", i);
    require(node.operand(i)->id < node.id, "operand {} is %{}, expected an earlier node", i,
            node.operand(i)->id);
  }
  require(node.rank() <= kMaxRank, "the rank is {}, expected at most {}", node.rank(), kMaxRank);
  for (const Extent extent : node.shape) {
    verify_extent(graph, extent);
    if (extent.is_number() && extent.number() < 0)
      fail_rule("the shape {} has a negative extent", to_string(node.shape));
  }
  const std::vector<AttributeInfo>& schema = info(node.op).attributes;
  require_same("the number of attributes", node.attributes.size(), schema.size());
  for (std::size_t i = 0; i < schema.size(); ++i)
    verify_attribute(graph, schema[i], node.attributes[i]);
  require(graph.is_unique(node), "the node is not the uniqued node of its content");
}

void verify_node(const GraphData& graph, const Node& node, std::size_t id) {
  verify_common(graph, node, id);
  switch (info(node.op).kind) {
    case OpKind::elementwise: return verify_elementwise(node);
    case OpKind::reduction: return verify_reduction(node);
    case OpKind::scan: return verify_scan(node);
    case OpKind::custom: return verify_custom(node);
    case OpKind::opaque: return verify_opaque(node);
    case OpKind::library: return verify_library(node);
    case OpKind::structural: return verify_structural(node);
    case OpKind::source: return verify_source(graph, node);
  }
}

void verify_inputs(const GraphData& graph) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const InputInfo& input = graph.inputs[i];
    require(belongs(graph, input.node), "input {} is not a node of the graph", input.name);
    require(input.node->op == Op::input || input.node->op == Op::scalar, "input {} is a {}",
            input.name, info(input.node->op).name);
    require(input.node->attributes[0].integer == static_cast<std::int64_t>(i),
            "input {} has the index {}, expected {}", input.name, input.node->attributes[0].integer,
            i);
    require(!input.name.empty(), "input {} has no name", i);
  }
}

void verify_results(const GraphData& graph) {
  for (const OutputInfo& output : graph.outputs) {
    require(belongs(graph, output.node), "output {} is not a node of the graph", output.name);
    require(!output.name.empty(), "an output has no name");
    require(output.strides.empty() || output.strides.size() == output.node->shape.size(),
            "output {} has {} strides for rank {}", output.name, output.strides.size(),
            output.node->rank());
  }
  std::unordered_set<const Node*> updated;
  for (const UpdateInfo& update : graph.updates) {
    require(belongs(graph, update.parameter) && belongs(graph, update.value),
            "an update refers to a node outside the graph");
    require(update.parameter->op == Op::input, "an update writes a {}, expected an input",
            info(update.parameter->op).name);
    if (type_text(*update.value) != type_text(*update.parameter))
      fail_rule("the value of update {} is {}, expected {}", graph.label(update.parameter),
                type_text(*update.value), type_text(*update.parameter));
    require(updated.insert(update.parameter).second, "two updates write {}",
            graph.label(update.parameter));
  }
}

/// Checks that the names of `named`, the inputs or the outputs, are unique.
template <class Named>
void verify_names(const std::vector<Named>& named, std::string_view what) {
  IdTable known;
  known.reserve(named.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::string& name = named[i].name;
    const std::uint64_t hash = std::hash<std::string>()(name);
    require(!known.find(hash, [&](std::uint32_t other) { return named[other].name == name; }),
            "two {} are called {}", what, name);
    known.add(hash, static_cast<std::uint32_t>(i));
  }
}

[[noreturn]] void throw_internal(const GraphData& graph, std::string_view subject,
                                 const RuleViolation& violation) {
  throw InternalError(
      fmt::format("sinter bug: graph {} is broken: {}: {}; please report it with the graph",
                  graph.name, subject, violation.what));
}

/// Verifies node `i`; an error names the node, its op and its source location.
void verify_and_name(const GraphData& graph, std::size_t i) {
  const Node* node = graph.nodes[i];
  try {
    verify_node(graph, *node, i);
  } catch (const RuleViolation& violation) {
    throw_internal(
        graph,
        fmt::format(
            "%{} {} (recorded at {})", i,
            static_cast<std::size_t>(node->op) < op_table().size() ? info(node->op).name : "?",
            to_string(graph.location_at(i))),
        violation);
  } catch (const UserError& error) {
    // An extent that recording would have rejected, such as a product beyond 64 bits.
    throw_internal(graph, fmt::format("%{} {}", i, info(node->op).name), {error.what()});
  }
}

void verify_ends(const GraphData& graph, bool checks_names) {
  try {
    verify_inputs(graph);
    verify_results(graph);
    if (!checks_names) return;
    verify_names(graph.inputs, "inputs");
    verify_names(graph.outputs, "outputs");
  } catch (const RuleViolation& violation) {
    throw_internal(graph, "inputs and outputs", violation);
  }
}

/// By node id: true if outputs or updates depend on the node through nodes with ids >= `first`.
std::vector<std::uint8_t> needed_from(const GraphData& graph, std::size_t first) {
  std::vector<std::uint8_t> needed(graph.nodes.size());
  for (const OutputInfo& output : graph.outputs)
    if (belongs(graph, output.node)) needed[output.node->id] = true;
  for (const UpdateInfo& update : graph.updates)
    if (belongs(graph, update.value)) needed[update.value->id] = true;
  for (std::size_t id = graph.nodes.size(); id-- > first;)
    if (needed[id])
      for (const Node* operand : graph.nodes[id]->operands)
        if (belongs(graph, operand)) needed[operand->id] = true;
  return needed;
}

}  // namespace

void verify_from(const GraphData& graph, std::size_t first) {
  const std::vector<std::uint8_t> needed = needed_from(graph, first);
  for (std::size_t i = first; i < graph.nodes.size(); ++i)
    if (needed[i]) verify_and_name(graph, i);
  verify_ends(graph, first == 0);
}

void verify(const GraphData& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) verify_and_name(graph, i);
  verify_ends(graph, true);
}
void verify(const Graph& graph) { verify(graph.data()); }

}  // namespace sinter
