#include "tools/onnx/importer/control_flow.h"

#include "tools/onnx/importer/flex_attention.h"
#include "tools/onnx/importer/loops.h"
#include "tools/onnx/importer/subgraph.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace sinter::onnx {

std::vector<ValueRef> import_function(ImportState& state, const FunctionProto& function,
                                      const NodeProto& node, std::span<const ValueRef> inputs,
                                      const NodeSurroundings& around) {
  const std::string name = shown_name(function.name);
  if (inputs.size() > function.input.size() || node.output.size() > function.output.size())
    refuse(fmt::format("it has {} inputs and {} outputs; function {} has {} and {}", inputs.size(),
                       node.output.size(), name, function.input.size(), function.output.size()));
  const Attributes given(node, around.attributes);
  FunctionAttributes attributes;
  for (const std::string_view declared : function.attribute) attributes[declared] = nullptr;
  for (const AttributeProto& declared : function.attribute_proto)
    attributes[declared.name] = &declared;
  for (const auto& [key, value] : given.all()) {
    if (!attributes.contains(key))
      refuse(fmt::format("function {} has no attribute {}", name, shown_name(key)));
    attributes[key] = value;
  }
  constexpr std::size_t kUsualItems = 256;
  state.nodes_left -=
      static_cast<std::int64_t>((function.input.size() + attributes.size()) / kUsualItems);
  Scope inner;
  for (std::size_t i = 0; i < function.input.size(); ++i) {
    if (inner.has(function.input[i]))
      refuse(fmt::format("function {} has two inputs '{}'", name, shown_name(function.input[i])));
    inner.add(function.input[i], i < inputs.size() ? inputs[i] : nullptr);
  }
  const Opsets opsets = checked_opsets(function.opset_import);
  import_nodes(state, function.node, inner,
               {.opsets = opsets,
                .attributes = &attributes,
                .path = fmt::format(" in function {}{}", name, around.path),
                .depth = around.depth + 1});
  std::vector<ValueRef> outputs;
  for (std::size_t i = 0; i < node.output.size(); ++i)
    outputs.push_back(node.output[i].empty()
                          ? nullptr
                          : value_from(inner, function.output[i], "function " + name));
  return outputs;
}

namespace {

/// Records one branch of an `If` whose condition is known. Otherwise records both branches, and
/// selects their outputs, which must then have equal types.
std::vector<ValueRef> import_if(ImportState& state, const Call& call,
                                std::span<const ValueRef> /*inputs*/, const Scope& scope,
                                const NodeSurroundings& around) {
  const auto branch = [&](bool is_true) {
    const char* const name = is_true ? "then_branch" : "else_branch";
    const Subgraph subgraph{.graph = call.attributes().graph(name),
                            .name = is_true ? "then_branch of an If" : "else_branch of an If",
                            .scope = scope,
                            .around = around};
    return import_subgraph(state, subgraph, {});
  };
  if (call.known(0)) {
    call.attributes().ignore("then_branch");
    call.attributes().ignore("else_branch");
    return branch(call.flag(0, "condition"));
  }
  const std::vector<ValueRef> on_true = branch(true);
  const std::vector<ValueRef> on_false = branch(false);
  return selected(state, call.tensor(0), on_true, on_false);
}

struct ControlFlowRow {
  std::string_view domain;
  std::string_view type;
  ImportSubgraphs import;
};

constexpr ControlFlowRow kControlFlow[] = {
    {"", "If", import_if},
    {"", "Loop", import_loop},
    {"", "Scan", import_scan},
    {"ai.onnx.preview", "FlexAttention", import_flex_attention},
};

}  // namespace

ImportSubgraphs find_control_flow(std::string_view domain, std::string_view type) {
  const auto* const found = std::ranges::find_if(
      kControlFlow, [&](const auto& row) { return row.domain == domain && row.type == type; });
  return found == std::end(kControlFlow) ? nullptr : found->import;
}

}  // namespace sinter::onnx
