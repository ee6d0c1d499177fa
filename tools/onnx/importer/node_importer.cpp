#include "tools/onnx/importer/node_importer.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "tools/onnx/evaluate/evaluate.h"
#include "tools/onnx/importer/control_flow.h"
#include "tools/onnx/importer/unsupported.h"
#include "tools/onnx/model/element_type.h"
#include "tools/onnx/model/tensor_data.h"
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr int kMostNested = 32;
constexpr std::size_t kMostRecorded = std::size_t{1} << 22;

/// 1 for usual nodes, and more for those with long lists.
std::int64_t cost_of(const NodeProto& node) {
  constexpr std::size_t kUsualItems = 256;
  std::size_t items = node.input.size() + node.output.size();
  for (const AttributeProto& attribute : node.attribute)
    items += 1 + attribute.ints.size() + attribute.floats.size() + attribute.strings.size();
  return 1 + static_cast<std::int64_t>(items / kUsualItems);
}

std::string description_of(const NodeProto& node, std::size_t number, const std::string& path) {
  const std::string_view domain = domain_of(node.domain);
  const std::string shown = node.name.empty() ? fmt::format("node {}", number)
                                              : fmt::format("node '{}'", shown_name(node.name));
  return fmt::format("{} ({}.{}){}", shown, domain.empty() ? "ai.onnx" : shown_name(domain),
                     shown_name(node.op_type), path);
}

ValueRef value_of(HostArray array, ElementType narrow = ElementType::undefined) {
  return std::make_shared<Value>(
      Value{.array = std::make_shared<const HostArray>(std::move(array)), .narrow = narrow});
}

/// The value of `tensor`, which is read at its first use.
ValueRef shared_value(ImportState& state, const TensorProto& tensor) {
  ValueRef& value = state.constants[&tensor];
  if (!value) value = value_of(array_of(tensor, state.folder), narrow_type(tensor.data_type));
  return value;
}

/// The value of `Constant`.
ValueRef constant_value(ImportState& state, const Call& call) {
  const Attributes& attributes = call.attributes();
  if (const TensorProto* tensor = attributes.tensor("value")) return shared_value(state, *tensor);
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
      if (!take_room(state_, cost_of(nodes_[i]))) return;
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

  [[noreturn]] void fail_input(std::string_view name) {
    if (!computed_) {
      computed_.emplace();
      for (const NodeProto& node : nodes_)
        computed_->insert(node.output.begin(), node.output.end());
    }
    refuse(computed_->contains(name)
               ? fmt::format("it reads '{}', which this or a later node computes: the nodes are "
                             "not in order, or form a cycle",
                             shown_name(name))
               : fmt::format("it reads '{}', which nothing defines", shown_name(name)));
  }

  std::vector<ValueRef> import(const NodeProto& node) {
    const std::vector<ValueRef> inputs = inputs_of(node);
    const FunctionProto* const function = state_.functions.find(node);
    const std::string_view domain = domain_of(node.domain);
    const ImportSubgraphs import_subgraphs = find_control_flow(domain, node.op_type);
    if (!function && !import_subgraphs && !domain.empty())
      refuse(fmt::format("operators of the domain {} are not supported", shown_name(domain)));
    if (!function && !import_subgraphs && !find_op(node.op_type) && node.op_type != "Constant" &&
        node.op_type != "Identity" && !is_evaluated(node.op_type))
      refuse(std::string(reason_for_refusing(node.op_type)));
    if (std::ranges::any_of(inputs, [](const ValueRef& v) { return v && v->is_failed; }))
      return failed_outputs(node);
    if (function) return import_function(state_, *function, node, inputs, around_);
    const auto opset = around_.opsets.find("");
    if (opset == around_.opsets.end()) refuse("the version of the operator set ai.onnx is missing");
    const Call call(node, inputs, around_.attributes, opset->second, state_.recording,
                    state_.folder);
    std::vector<ValueRef> outputs = import_subgraphs
                                        ? import_subgraphs(state_, call, inputs, scope_, around_)
                                        : outputs_of(call, inputs);
    constexpr std::int64_t kLastWithConsumedInputs = 5;
    if (opset->second <= kLastWithConsumedInputs) call.attributes().ignore("consumed_inputs");
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
    if (call.node().op_type == "Constant") return {constant_value(state_, call)};
    if (call.node().op_type == "Identity") {
      call.input(0);  // is not missing
      return {inputs[0]};
    }
    const ElementType narrow = narrow_type_of_outputs(call);
    if (auto known = evaluate(call, state_.elements_left)) {
      for (KnownValue& value : *known)
        outputs.push_back(
            std::make_shared<Value>(Value{.known = std::move(value), .narrow = narrow}));
      return outputs;
    }
    const OpRow* const row = find_op(call.node().op_type);
    if (!row)
      for (std::size_t i = 0; i < call.input_count(); ++i) call.known(i, "elements");
    if (!row)
      refuse("the importer evaluates it only for small arrays and dtypes of 32 bits or more");
    for (const Tensor& tensor : row->record(call))
      outputs.push_back(std::make_shared<Value>(Value{.tensor = tensor, .narrow = narrow}));
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
  std::optional<std::unordered_set<std::string_view>> computed_;  ///< all outputs, for errors
};

}  // namespace

bool take_room(ImportState& state, std::int64_t nodes) {
  if (state.is_too_large) return false;
  state.nodes_left -= nodes;
  const bool has_many_ops = state.recording.graph.data().nodes.size() > kMostRecorded;
  if (state.nodes_left >= 0 && !has_many_ops) return true;
  state.is_too_large = true;
  state.problems.add("the model",
                     has_many_ops
                         ? "the importer would record more than 2^22 ops for it"
                         : "with all functions inlined and loops unrolled, it has more than 2^20 "
                           "nodes");
  return false;
}

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
    ValueRef value;
    try {
      if (tensor.name.empty()) refuse("it has no name");
      if (scope.has(tensor.name)) refuse("its name is already defined");
      value = shared_value(state, tensor);
    } catch (const UserError& error) {
      state.problems.add(where, error.what());
      value = std::make_shared<Value>(Value{.is_failed = true});
      if (scope.has(tensor.name)) continue;
    }
    scope.add(tensor.name, value);
  }
}

}  // namespace sinter::onnx
