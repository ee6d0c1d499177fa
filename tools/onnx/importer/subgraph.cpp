#include "tools/onnx/importer/subgraph.h"

#include "ir/graph/node.h"
#include "sinter/ops.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

ValueRef value_of_tensor(const Tensor& tensor) {
  return std::make_shared<Value>(Value{.tensor = tensor});
}

bool has_failed(std::span<const ValueRef> values) {
  return std::ranges::any_of(values, [](const ValueRef& value) { return value->is_failed; });
}

ValueRef value_from(const Scope& scope, std::string_view name, std::string_view what) {
  ValueRef value = scope.find(name);
  if (!value) refuse(fmt::format("{} has no value '{}' for its output", what, shown_name(name)));
  return value;
}

std::vector<ValueRef> import_subgraph(ImportState& state, const Subgraph& subgraph,
                                      std::span<const ValueRef> inputs) {
  const GraphProto& graph = subgraph.graph;
  if (graph.input.size() != inputs.size())
    refuse(fmt::format("the {} has {} inputs; it gets {}", subgraph.name, graph.input.size(),
                       inputs.size()));
  const std::string path = fmt::format(" in {}{}", subgraph.name, subgraph.around.path);
  const NodeSurroundings inside{.opsets = subgraph.around.opsets,
                                .attributes = subgraph.around.attributes,
                                .path = path,
                                .depth = subgraph.around.depth + 1};
  Scope inner(&subgraph.scope);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inner.has(graph.input[i].name))
      refuse(fmt::format("the {} has two inputs '{}'", subgraph.name,
                         shown_name(graph.input[i].name)));
    inner.add(graph.input[i].name, inputs[i]);
  }
  add_initializers(state, graph, inner, path);
  import_nodes(state, graph.node, inner, inside);
  std::vector<ValueRef> outputs;
  for (const ValueInfoProto& output : graph.output)
    outputs.push_back(value_from(inner, output.name, fmt::format("the {}", subgraph.name)));
  return outputs;
}

std::vector<ValueRef> selected(ImportState& state, const Tensor& condition,
                               std::span<const ValueRef> on_true,
                               std::span<const ValueRef> on_false) {
  if (on_true.size() != on_false.size())
    refuse(fmt::format("its branches have {} and {} outputs", on_true.size(), on_false.size()));
  std::vector<ValueRef> outputs;
  for (std::size_t i = 0; i < on_true.size(); ++i) {
    outputs.push_back(std::make_shared<Value>());
    outputs.back()->is_failed = on_true[i]->is_failed || on_false[i]->is_failed;
    if (outputs.back()->is_failed) continue;
    const Tensor a = state.recording.tensor(*on_true[i]);
    const Tensor b = state.recording.tensor(*on_false[i]);
    if (type_text(*a.node()) != type_text(*b.node()))
      refuse(
          fmt::format("its condition is computed at run time, and output {} is {} in one case "
                      "and {} in the other; their types must be equal",
                      i, type_text(*a.node()), type_text(*b.node())));
    outputs.back()->tensor = where(reshape(condition, Extents()), a, b);
  }
  return outputs;
}

}  // namespace sinter::onnx
