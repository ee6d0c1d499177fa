#include "tools/onnx/importer/node_importer.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "tools/onnx/evaluate/evaluate.h"
#include "tools/onnx/importer/control_flow.h"
#include "tools/onnx/model/element_type.h"
#include "tools/onnx/model/tensor_data.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr int kMostNested = 32;

std::string description_of(const NodeProto& node, std::size_t number, const std::string& path) {
  const std::string_view domain = domain_of(node.domain);
  const std::string shown = node.name.empty() ? fmt::format("node {}", number)
                                              : fmt::format("node '{}'", shown_name(node.name));
  return fmt::format("{} ({}.{}){}", shown, domain.empty() ? "ai.onnx" : shown_name(domain),
                     shown_name(node.op_type), path);
}

ValueRef value_of(HostArray array, int packed_bits = 0) {
  return std::make_shared<Value>(Value{.array = std::make_shared<const HostArray>(std::move(array)),
                                       .packed_bits = packed_bits});
}

/// The value of `Constant`.
ValueRef constant_value(const Call& call) {
  const Attributes& attributes = call.attributes();
  if (const TensorProto* tensor = attributes.tensor("value"))
    return value_of(array_of(*tensor, call.folder()), packed_bits(tensor->data_type));
  KnownValue known;
  const auto set_reals = [&](const std::vector<double>& reals) {
    known.dtype = f32;
    for (const double real : reals) known.items.push_back(Number::of_real(real));
  };
  const auto set_integers = [&](const std::vector<std::int64_t>& integers) {
    for (const std::int64_t integer : integers) known.items.push_back(Number::of(integer));
  };
  if (attributes.has("value_float"))
    set_reals({attributes.real("value_float", 0)});
  else if (attributes.has("value_int"))
    set_integers({attributes.integer("value_int", 0)});
  else if (attributes.has("value_floats"))
    set_reals(attributes.reals("value_floats"));
  else if (attributes.has("value_ints"))
    set_integers(attributes.integers("value_ints"));
  else
    refuse("its value is missing, or is a text or a sparse tensor, for which sinter has no dtype");
  if (attributes.has("value_floats") || attributes.has("value_ints"))
    known.shape = {static_cast<std::int64_t>(known.items.size())};
  return value_of(array_of(known));
}

class NodeImporter {
 public:
  NodeImporter(ImportState& state, std::span<const NodeProto> nodes, Scope& scope,
               const NodeSurroundings& around)
      : state_(state), nodes_(nodes), scope_(scope), around_(around) {}

  void run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (--state_.nodes_left < 0) return fail_size();
      const std::string where = description_of(nodes_[i], i, around_.path);
      std::vector<ValueRef> outputs;
      try {
        outputs = import(nodes_[i]);
      } catch (const UserError& error) {
        state_.problems.add(where, error.what());
        outputs = failed_outputs(nodes_[i]);
      }
      add_outputs(nodes_[i], where, std::move(outputs));
    }
  }

 private:
  void fail_size() const {
    if (state_.nodes_left < -1) return;  // reported before
    state_.problems.add("the model", "with all functions inlined it has more than 2^20 nodes");
  }

  static std::vector<ValueRef> failed_outputs(const NodeProto& node) {
    const auto failed = std::make_shared<Value>(Value{.is_failed = true});
    return std::vector<ValueRef>(node.output.size(), failed);
  }

  std::vector<ValueRef> inputs_of(const NodeProto& node) {
    std::vector<ValueRef> inputs;
    for (const std::string_view name : node.input) {
      if (!name.empty() && !scope_.is_defined(name)) fail_input(name);
      inputs.push_back(name.empty() ? nullptr : scope_.find(name));
    }
    return inputs;
  }

  [[noreturn]] void fail_input(std::string_view name) const {
    const bool is_later = std::ranges::any_of(
        nodes_, [&](const NodeProto& node) { return std::ranges::count(node.output, name) > 0; });
    refuse(is_later
               ? fmt::format("it reads '{}', which this or a later node computes: the nodes are "
                             "not in order, or form a cycle",
                             shown_name(name))
               : fmt::format("it reads '{}', which nothing defines", shown_name(name)));
  }

  std::vector<ValueRef> import(const NodeProto& node) {
    const std::vector<ValueRef> inputs = inputs_of(node);
    const FunctionProto* const function = state_.functions.find(node);
    const std::string_view domain = domain_of(node.domain);
    if (!function && !domain.empty())
      refuse(fmt::format("operators of the domain {} are not supported", shown_name(domain)));
    if (!function && !is_control_flow(node.op_type) && !find_op(node.op_type) &&
        node.op_type != "Constant" && node.op_type != "Identity" && !is_evaluated(node.op_type))
      refuse("sinter does not import this operator");
    if (std::ranges::any_of(inputs, [](const ValueRef& v) { return v && v->is_failed; }))
      return failed_outputs(node);
    if (function) return import_function(state_, *function, node, inputs, around_);
    const auto opset = around_.opsets.find("");
    if (opset == around_.opsets.end()) refuse("the version of the operator set ai.onnx is missing");
    const Call call(node, inputs, around_.attributes, opset->second, state_.recording,
                    state_.folder);
    std::vector<ValueRef> outputs = is_control_flow(node.op_type)
                                        ? import_if(state_, call, scope_, around_)
                                        : outputs_of(call, inputs);
    call.attributes().refuse_unused();
    if (outputs.size() < node.output.size() &&
        std::ranges::any_of(node.output.begin() + static_cast<std::ptrdiff_t>(outputs.size()),
                            node.output.end(), [](std::string_view name) { return !name.empty(); }))
      refuse(fmt::format("it has {} outputs, of which sinter imports {}", node.output.size(),
                         outputs.size()));
    return outputs;
  }

  std::vector<ValueRef> outputs_of(const Call& call, std::span<const ValueRef> inputs) {
    std::vector<ValueRef> outputs;
    if (call.node().op_type == "Constant") return {constant_value(call)};
    if (call.node().op_type == "Identity") {
      call.input(0);  // is not missing
      return {inputs[0]};
    }
    if (auto known = evaluate(call)) {
      for (KnownValue& value : *known)
        outputs.push_back(std::make_shared<Value>(Value{.known = std::move(value)}));
      return outputs;
    }
    const OpRow* const row = find_op(call.node().op_type);
    if (!row) refuse("its inputs are computed at run time; sinter imports it for constants only");
    for (const Tensor& tensor : row->record(call))
      outputs.push_back(std::make_shared<Value>(Value{.tensor = tensor}));
    return outputs;
  }

  void add_outputs(const NodeProto& node, const std::string& where, std::vector<ValueRef> outputs) {
    for (std::size_t i = 0; i < node.output.size(); ++i) {
      const std::string_view name = node.output[i];
      if (name.empty()) continue;
      if (scope_.has(name)) {
        state_.problems.add(where,
                            fmt::format("its output '{}' is already defined", shown_name(name)));
        continue;
      }
      ensure(i < outputs.size() && outputs[i], "an imported node has all named outputs");
      label(name, *outputs[i]);
      scope_.add(name, std::move(outputs[i]));
    }
  }

  /// Names the tensor of `value` in the text, unless it has a name.
  void label(std::string_view name, const Value& value) {
    const Node* const node = value.tensor.node();
    if (!node || node->op == Op::input || !state_.recording.graph.data().label(node).empty())
      return;
    const auto output = state_.names.find(name);
    const bool is_output = around_.depth == 0 && output != state_.names.end();
    value.tensor.label(is_output ? output->second : state_.recording.names.add(name));
  }

  ImportState& state_;
  std::span<const NodeProto> nodes_;
  Scope& scope_;
  const NodeSurroundings& around_;
};

}  // namespace

void import_nodes(ImportState& state, std::span<const NodeProto> nodes, Scope& scope,
                  const NodeSurroundings& around) {
  if (around.depth > kMostNested)
    refuse(fmt::format("functions and branches are nested more than {} deep, or call themselves",
                       kMostNested));
  NodeImporter(state, nodes, scope, around).run();
}

void add_initializers(ImportState& state, const GraphProto& graph, Scope& scope,
                      const std::string& path) {
  if (!graph.sparse_initializer.empty())
    state.problems.add(fmt::format("initialiser '{}'{}",
                                   shown_name(graph.sparse_initializer[0].values.name), path),
                       "it is sparse, which is not supported");
  for (const TensorProto& tensor : graph.initializer) {
    const std::string where = fmt::format("initialiser '{}'{}", shown_name(tensor.name), path);
    const auto value = std::make_shared<Value>();
    try {
      if (tensor.name.empty()) refuse("it has no name");
      if (scope.has(tensor.name)) refuse("its name is already defined");
      value->array = std::make_shared<const HostArray>(array_of(tensor, state.folder));
      value->packed_bits = packed_bits(tensor.data_type);
    } catch (const UserError& error) {
      state.problems.add(where, error.what());
      value->is_failed = true;
      if (scope.has(tensor.name)) continue;
    }
    scope.add(tensor.name, value);
  }
}

}  // namespace sinter::onnx
