// precompute: what depends on weights alone, in a graph of its own.
#include "compiler/simplify/graph_sweep.h"
#include "ir/graph/operand_index.h"
#include "ir/support/dense_map.h"
#include "runtime/quantization/weight_values.h"
#include "sinter/quantization.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>

namespace sinter {

namespace {

bool is_input(const Node* node) { return node->op == Op::input || node->op == Op::scalar; }

bool are_numbers(std::span<const Extent> extents) {
  return std::ranges::all_of(extents, [](Extent extent) { return extent.is_number(); });
}

/// By node id: true for values that depend on the size of a symbol.
std::vector<bool> values_with_symbols(const GraphData& graph) {
  std::vector<bool> result(graph.nodes.size());
  for (const Node* node : graph.nodes)
    result[node->id] = node->op == Op::size || !are_numbers(node->shape) ||
                       std::ranges::any_of(node->attributes,
                                           [](const Attribute& attribute) {
                                             return !attribute.extent.is_number() ||
                                                    !are_numbers(attribute.extents);
                                           }) ||
                       std::ranges::any_of(node->operands, [&](const Node* operand) {
                         return result[operand->id];
                       });
  return result;
}

/// The values to store instead of computing them from weights in every run, without those that are
/// inputs already.
class StoredValues {
 public:
  StoredValues(const GraphData& graph, const std::vector<bool>& is_weight)
      : is_weight_(is_weight),
        has_symbol_(values_with_symbols(graph)),
        best_(graph.nodes.size()),
        is_read_(graph.nodes.size()) {
    for (const Node* node : graph.nodes) {
      if (is_weight[node->id])
        best_[node->id] =
            is_input(node) ? own_bytes(node) : std::min(own_bytes(node), bytes_of_operands(node));
      else
        for (const Node* operand : node->operands) is_read_[operand->id] = true;
    }
    for (std::size_t id = graph.nodes.size(); id-- > 0;) choose(graph.nodes[id]);
    std::ranges::reverse(chosen_);
  }

  /// In the order of the graph.
  const std::vector<const Node*>& get() const { return chosen_; }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  double own_bytes(const Node* node) const {
    if (has_symbol_[node->id]) return kNever;
    return static_cast<double>(product(node->shape).number()) * size_of(node->dtype);
  }

  /// The bytes from which readers compute `node` while they read it.
  double bytes_of_operands(const Node* node) const {
    if (!is_elementwise(node->op) && node->op != Op::cast && !is_view(*node)) return kNever;
    double sum = 0;
    for (std::size_t i = 0; i < node->operands.size(); ++i) {
      const std::span<const Node* const> before = node->operands.first(i);
      if (std::ranges::find(before, node->operand(i)) == before.end())
        sum += best_[node->operand(i)->id];
    }
    return sum;
  }

  /// Stores `node` if it is read, or else has its operands read.
  void choose(const Node* node) {
    if (!is_weight_[node->id] || !is_read_[node->id] || is_input(node)) return;
    if (own_bytes(node) <= bytes_of_operands(node) && own_bytes(node) < kNever)
      chosen_.push_back(node);
    else
      for (const Node* operand : node->operands) is_read_[operand->id] = true;
  }

  const std::vector<bool>& is_weight_;
  std::vector<bool> has_symbol_;  ///< by id
  std::vector<double> best_;      ///< the fewest bytes from which readers get a weight; by id
  std::vector<bool> is_read_;     ///< by id
  std::vector<const Node*> chosen_;
};

/// Names of new inputs: the label of a value, or `w1_cast` after one of its weights.
class NewNames {
 public:
  NewNames(const GraphData& graph, const std::vector<bool>& is_weight)
      : graph_(graph), is_weight_(is_weight) {
    for (const InputInfo& input : graph.inputs) taken_.insert(input.name);
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
  const std::string& first_weight(const Node* node) const {
    while (!is_input(node))
      node = *std::ranges::find_if(node->operands,
                                   [&](const Node* operand) { return is_weight_[operand->id]; });
    return std::ranges::find(graph_.inputs, node, &InputInfo::node)->name;
  }

  const GraphData& graph_;
  const std::vector<bool>& is_weight_;
  std::set<std::string> taken_;
};

/// Copies a graph with fewer inputs. Nodes of inputs contain their position, so all are made again.
class CopyWithFewerInputs {
 public:
  /// Without those of `removable` that nothing reads. Symbols get their sizes from the shapes of
  /// inputs, so inputs with symbols stay, unless `has_symbols` is false.
  CopyWithFewerInputs(const GraphData& from, std::span<const std::string> removable,
                      bool has_symbols)
      : from_(from), result_(empty_like(from)), copies_(from.nodes.size()) {
    const std::vector<const Node*> needed = reachable(from);
    for (const InputInfo& input : from.inputs)
      if (std::ranges::find(needed, input.node) != needed.end() ||
          std::ranges::find(removable, input.name) == removable.end() ||
          (has_symbols && !are_numbers(input.node->shape)))
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
  NewNames names(data, is_weight);
  DenseMap<const Node*, const Node*> stored;
  const StoredValues values(data, is_weight);
  for (const Node* node : values.get()) {
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
  result.graph = CopyWithFewerInputs(data, weights, /*has_symbols=*/true).take();
  std::vector<std::string> all;
  for (const InputInfo& input : source.inputs) all.push_back(input.name);
  result.weights = CopyWithFewerInputs(source, all, /*has_symbols=*/false).take();
  return result;
}

}  // namespace sinter
