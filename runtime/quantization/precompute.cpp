// precompute: what depends on weights alone, in a graph of its own.
#include "compiler/simplify/graph_sweep.h"
#include "ir/graph/operand_index.h"
#include "ir/support/dense_map.h"
#include "runtime/quantization/weight_values.h"
#include "sinter/quantization.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>

namespace sinter {

namespace {

/// Finds, for values that depend on weights alone, the values to store instead of computing them in
/// every run.
class StoredValues {
 public:
  StoredValues(const GraphData& graph, const std::vector<bool>& is_weight)
      : is_weight_(is_weight), best_(graph.nodes.size(), kUnknown) {
    for (const Node* node : reachable(graph)) {
      if (is_weight[node->id]) continue;
      for (const Node* operand : node->operands)
        if (is_weight[operand->id]) choose(operand);
    }
  }

  /// Without the inputs among them, in the order of the graph.
  std::vector<const Node*> take() {
    std::ranges::sort(chosen_, {}, &Node::id);
    return std::move(chosen_);
  }

 private:
  static constexpr double kUnknown = -1;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  static bool is_input(const Node* node) { return node->op == Op::input || node->op == Op::scalar; }

  /// The bytes of `node`; never stored if its shape has a symbol.
  static double own_bytes(const Node* node) {
    const Extent elements = product(node->shape);
    if (!elements.is_number()) return kNever;
    return static_cast<double>(elements.number()) * size_of(node->dtype);
  }

  /// True if kernels compute `node` from its operands while they read them.
  static bool is_computed_by_readers(const Node* node) {
    return is_elementwise(node->op) || node->op == Op::cast || is_view(*node);
  }

  /// The fewest bytes from which readers can get `node`.
  double best(const Node* node) {
    double& known = best_[node->id];
    if (known != kUnknown) return known;
    if (!is_weight_[node->id]) return known = 0;  // a number
    if (is_input(node)) return known = own_bytes(node);
    return best_[node->id] = std::min(own_bytes(node), bytes_of_operands(node));
  }

  double bytes_of_operands(const Node* node) {
    if (!is_computed_by_readers(node)) return kNever;
    double sum = 0;
    for (std::size_t i = 0; i < node->operands.size(); ++i)
      if (std::ranges::find(node->operands.first(i), node->operand(i)) ==
          node->operands.first(i).end())
        sum += best(node->operand(i));
    return sum;
  }

  void choose(const Node* node) {
    if (!is_weight_[node->id] || is_input(node) || !seen_.insert(node).second) return;
    if (own_bytes(node) <= bytes_of_operands(node) && own_bytes(node) < kNever) {
      chosen_.push_back(node);
      return;
    }
    for (const Node* operand : node->operands) choose(operand);
  }

  const std::vector<bool>& is_weight_;
  std::vector<double> best_;  ///< by id
  DenseSet<const Node*> seen_;
  std::vector<const Node*> chosen_;
};

/// Names of new inputs: the label of a value, or `w1_cast` after one of its weights.
class NewNames {
 public:
  NewNames(const GraphData& graph, std::span<const std::string> weights) : graph_(graph) {
    for (const InputInfo& input : graph.inputs) {
      taken_.insert(input.name);
      if (std::ranges::find(weights, input.name) != weights.end())
        name_of_[input.node] = input.name;
    }
    for (const OutputInfo& output : graph.outputs) taken_.insert(output.name);
  }

  std::string of(const Node* node) {
    std::string name(graph_.label(node));
    if (name.empty()) name = fmt::format("{}_{}", first_weight(node), info(node->op).name);
    std::string result = name;
    for (int number = 2; !taken_.insert(result).second; ++number)
      result = fmt::format("{}_{}", name, number);
    return result;
  }

 private:
  const std::string& first_weight(const Node* node) {
    for (std::vector<const Node*> pending = {node};;) {
      const Node* at = pending.back();
      if (const auto found = name_of_.find(at); found != name_of_.end()) return found->second;
      pending.pop_back();
      pending.insert(pending.end(), at->operands.rbegin(), at->operands.rend());
    }
  }

  const GraphData& graph_;
  std::map<const Node*, std::string> name_of_;
  std::set<std::string> taken_;
};

/// Copies a graph with fewer inputs. Nodes of inputs contain their position, so all are made again.
class CopyWithFewerInputs {
 public:
  CopyWithFewerInputs(const GraphData& from, std::span<const std::string> removable)
      : from_(from), result_(empty_like(from)), copies_(from.nodes.size()) {
    const std::vector<const Node*> needed = reachable(from);
    for (const InputInfo& input : from.inputs)
      if (std::ranges::find(needed, input.node) != needed.end() ||
          std::ranges::find(removable, input.name) == removable.end())
        declare(input);
    for (const Node* node : needed)
      if (!copies_[node->id]) copies_[node->id] = copy(*node);
    for (const OutputInfo& output : from.outputs)
      result_.output(output.name, at(output.node, output.location), {.strides = output.strides});
    for (const UpdateInfo& update : from.updates)
      result_.update(at(update.parameter, update.location), at(update.value, update.location));
  }

  /// A clone, which has extents and texts of its own.
  Graph take() const { return clone(result_); }

 private:
  static Graph empty_like(const GraphData& from) {
    auto data = std::make_unique<GraphData>(from.name);
    data->extents = from.extents;
    data->custom_ops = from.custom_ops;
    return Graph(std::move(data));
  }

  Operand at(const Node* node, Location location) {
    return {tensor(result_.data(), copies_[node->id]), location.file, location.line};
  }

  void declare(const InputInfo& input) {
    const Node& node = *input.node;
    const Location location = from_.location(&node);
    const Tensor copy =
        node.op == Op::scalar
            ? result_.scalar(input.name, node.dtype, location.file, location.line)
            : result_.input(input.name, node.dtype, node.shape,
                            {.strides = vector_of(attribute(node, "strides").extents),
                             .low = input.low,
                             .high = input.high},
                            location.file, location.line);
    copies_[node.id] = copy.node();
  }

  static std::vector<Extent> vector_of(std::span<const Extent> extents) {
    return {extents.begin(), extents.end()};
  }

  const Node* copy(const Node& node) {
    llvm::SmallVector<const Node*, 4> operands;
    for (const Node* operand : node.operands) operands.push_back(copies_[operand->id]);
    const Node* const result = result_.data().make({.op = node.op,
                                                    .dtype = node.dtype,
                                                    .operands = operands,
                                                    .shape = node.shape,
                                                    .attributes = node.attributes},
                                                   from_.location(&node));
    if (const std::string_view label = from_.label(&node); !label.empty())
      result_.data().set_label(result, label);
    return result;
  }

  const GraphData& from_;
  Graph result_;
  std::vector<const Node*> copies_;  ///< by id
};

}  // namespace

PrecomputedGraph precompute(const Graph& graph, std::span<const std::string> weights) {
  // Two equal clones, with the same ids.
  PrecomputedGraph result{.graph = clone(graph), .weights = clone(graph)};
  GraphData& data = result.graph.data();
  GraphData& source = result.weights.data();
  source.name += "_weights";
  source.outputs.clear();
  source.updates.clear();
  source.invalidate_liveness();
  const std::vector<bool> is_weight = weight_values(data, weights, "precompute");
  NewNames names(data, weights);
  DenseMap<const Node*, const Node*> stored;
  for (const Node* node : StoredValues(data, is_weight).take()) {
    const std::string name = names.of(node);
    result.weights.output(name, tensor(source, source.nodes[node->id]));
    stored[node] =
        result.graph
            .input(name, node->dtype, std::vector<Extent>(node->shape.begin(), node->shape.end()))
            .node();
  }
  sweep(data, [&](const Node& node, std::span<const Node* const> operands) {
    const auto found = stored.find(&node);
    return found != stored.end() ? found->second : with_operands(data, node, operands);
  });
  result.graph = CopyWithFewerInputs(data, weights).take();
  std::vector<std::string> all;
  for (const InputInfo& input : source.inputs) all.push_back(input.name);
  result.weights = CopyWithFewerInputs(source, all).take();
  return result;
}

}  // namespace sinter
