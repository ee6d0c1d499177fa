#include "tools/onnx/importer/control_flow.h"

#include "ir/graph/node.h"
#include "sinter/ops.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The value called `name` in a function or branch, as a value of the caller.
ValueRef value_from(const Scope& scope, std::string_view name, std::string_view what) {
  ValueRef value = scope.find(name);
  if (!value) refuse(fmt::format("{} has no value '{}' for its output", what, shown_name(name)));
  return value;
}

std::vector<ValueRef> import_branch(ImportState& state, const GraphProto& branch,
                                    const Scope& scope, const NodeSurroundings& around,
                                    const char* name) {
  const std::string path = fmt::format(" in {} of an If{}", name, around.path);
  const NodeSurroundings inside{.opsets = around.opsets,
                                .attributes = around.attributes,
                                .path = path,
                                .depth = around.depth + 1};
  Scope inner(&scope);
  add_initializers(state, branch, inner, path);
  import_nodes(state, branch.node, inner, inside);
  std::vector<ValueRef> outputs;
  for (const ValueInfoProto& output : branch.output)
    outputs.push_back(value_from(inner, output.name, name));
  return outputs;
}

/// The outputs of both branches, selected by the condition at run time.
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
          fmt::format("its condition is computed at run time, and output {} is {} in one branch "
                      "and {} in the other; their types must be equal",
                      i, type_text(*a.node()), type_text(*b.node())));
    outputs.back()->tensor = where(reshape(condition, Extents()), a, b);
  }
  return outputs;
}

}  // namespace

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

std::vector<ValueRef> import_if(ImportState& state, const Call& call, const Scope& scope,
                                const NodeSurroundings& around) {
  const GraphProto& then_branch = call.attributes().graph("then_branch");
  const GraphProto& else_branch = call.attributes().graph("else_branch");
  if (call.known(0)) {
    const bool is_true = call.flag(0, "condition");
    return import_branch(state, is_true ? then_branch : else_branch, scope, around,
                         is_true ? "then_branch" : "else_branch");
  }
  const std::vector<ValueRef> on_true =
      import_branch(state, then_branch, scope, around, "then_branch");
  const std::vector<ValueRef> on_false =
      import_branch(state, else_branch, scope, around, "else_branch");
  return selected(state, call.tensor(0), on_true, on_false);
}

}  // namespace sinter::onnx
