#include "compiler/fusion/store_views.h"

#include <algorithm>

#include "compiler/simplify/graph_sweep.h"
#include "compiler/simplify/simplify_structure.h"
#include "ir/graph/operand_index.h"
#include "ir/record/record.h"

namespace sinter {

namespace {

/// True for views that contain each element of their operand once and that a view can undo.
bool is_reordering(const Node& node) { return node.op == Op::reshape || node.op == Op::permute; }

/// The value that `view` reorders.
const Node* base_of(const Node* view) {
  while (is_reordering(*view)) view = view->operand(0);
  return view;
}

bool is_elementwise_or_cast(const Node& node) {
  return is_elementwise(node.op) || node.op == Op::cast;
}

const Node* reshaped(GraphData& graph, const Node* node, std::span<const Extent> shape,
                     const Node* place) {
  if (std::ranges::equal(node->shape, shape)) return node;
  return merge_chain(graph, reshape(operand_at(graph, node, place), shape).node());
}

const Node* permuted(GraphData& graph, const Node* node, std::span<const std::int64_t> axes,
                     const Node* place) {
  if (std::ranges::is_sorted(axes)) return node;
  return merge_chain(graph, permute(operand_at(graph, node, place), Axes(axes)).node());
}

/// Applies `view` to `node`, which has the shape of `view`'s operand.
const Node* apply_view(GraphData& graph, const Node* node, const Node& view) {
  if (view.op == Op::reshape) return reshaped(graph, node, view.shape, &view);
  return permuted(graph, node, attribute(view, "axes").integers, &view);
}

/// Applies the inverse of `view` to `node`, which has the shape of `view`.
const Node* undo_view(GraphData& graph, const Node* node, const Node& view) {
  if (view.op == Op::reshape) return reshaped(graph, node, view.operand(0)->shape, &view);
  const std::span<const std::int64_t> axes = attribute(view, "axes").integers;
  std::vector<std::int64_t> back(axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    back[static_cast<std::size_t>(axes[axis])] = static_cast<std::int64_t>(axis);
  return permuted(graph, node, back, &view);
}

class ViewRewriter {
 public:
  ViewRewriter(GraphData& graph, const std::vector<int>& outputs) : graph_(graph) {
    for (const int output : outputs) {
      const Node* view = graph.outputs[static_cast<std::size_t>(output)].node;
      view_of_[base_of(view)] = view;
    }
  }

  void run() {
    sweep(graph_, [this](const Node& node, std::span<const Node* const> operands) {
      return replaced(node, operands);
    });
  }

 private:
  const Node* replaced(const Node& node, std::span<const Node* const> operands) {
    // A view comes after the value that it reorders, which has computed the view already.
    if (const auto computed = computed_.find(&node); computed != computed_.end())
      return computed->second;
    const Node* result = with_operands(graph_, node, operands);
    const auto view = view_of_.find(&node);
    if (view == view_of_.end()) return is_view(*result) ? merge_chain(graph_, result) : result;
    return undo_views(view->second, computed(*result, view->second));
  }

  /// The views from a value to `view`, its last one.
  static std::vector<const Node*> chain_to(const Node* view) {
    std::vector<const Node*> chain;
    for (; is_reordering(*view); view = view->operand(0)) chain.push_back(view);
    std::ranges::reverse(chain);
    return chain;
  }

  /// Computes `value` in the order of `view`, from views of its operands.
  const Node* computed(const Node& value, const Node* view) {
    const std::vector<const Node*> chain = chain_to(view);
    llvm::SmallVector<const Node*, 4> operands;
    for (const Node* operand : value.operands) {
      // Scalars need no view.
      if (!operand->shape.empty()) {
        if (!std::ranges::equal(operand->shape, value.shape))
          operand = broadcast_to(operand_at(graph_, operand, &value), value.shape).node();
        for (const Node* step : chain) operand = apply_view(graph_, operand, *step);
      }
      operands.push_back(operand);
    }
    const Node* result = graph_.make({.op = value.op,
                                      .dtype = value.dtype,
                                      .operands = operands,
                                      .shape = view->shape,
                                      .attributes = value.attributes},
                                     graph_.location(&value));
    if (const std::string_view label = graph_.label(view);
        !label.empty() && graph_.label(result).empty())
      graph_.set_label(result, label);
    return computed_[view] = result;
  }

  const Node* undo_views(const Node* view, const Node* result) {
    for (; is_reordering(*view); view = view->operand(0)) result = undo_view(graph_, result, *view);
    return result;
  }

  GraphData& graph_;
  DenseMap<const Node*, const Node*> view_of_;   ///< value → output view
  DenseMap<const Node*, const Node*> computed_;  ///< output view → its replacement
};

}  // namespace

void read_inputs_as_values(GraphData& graph) {
  for (OutputInfo& output : graph.outputs)
    if (!output.is_unwritten) output.node = as_value(graph, output.node);
  for (UpdateInfo& update : graph.updates) update.value = as_value(graph, update.value);
}

void copy_repeated_scatters(GraphData& graph) {
  DenseSet<const Node*> stored;
  const auto store = [&](const Node*& node) {
    if (node->op == Op::scatter && !stored.insert(node).second) node = copy_of(graph, node);
  };
  for (UpdateInfo& update : graph.updates) store(update.value);
  for (OutputInfo& output : graph.outputs)
    if (!output.is_unwritten) store(output.node);
}

std::vector<int> views_to_compute(const GraphData& graph, const Groups& groups) {
  std::vector<int> result;
  DenseSet<const Node*> bases;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Node* view = graph.outputs[i].node;
    const Node* base = base_of(view);
    if (graph.outputs[i].is_unwritten || base == view || !is_elementwise_or_cast(*base)) continue;
    if (groups.is_result(base) || !groups.is_used_by_others(base, groups.home(view))) continue;
    if (bases.insert(base).second) result.push_back(static_cast<int>(i));
  }
  return result;
}

DenseMap<const Node*, const Node*> values_stored_as_output_views(const GraphData& graph) {
  DenseMap<const Node*, const Node*> result;
  for (const OutputInfo& output : graph.outputs)
    if (const Node* base = base_of(output.node);
        !output.is_unwritten && base != output.node && base->op != Op::input)
      result.try_emplace(base, output.node);
  if (result.empty()) return result;
  for (const OutputInfo& output : graph.outputs) result.erase(output.node);
  for (const UpdateInfo& update : graph.updates) result.erase(update.value);
  DenseMap<const Node*, const Node*> reader;
  for (const Node* node : reachable(graph))
    for (const Node* operand : node->operands)
      if (result.contains(operand) && reader.try_emplace(operand, node).first->second != node)
        result.erase(operand);
  return result;
}

void compute_views(GraphData& graph, const std::vector<int>& outputs) {
  ViewRewriter(graph, outputs).run();
}

}  // namespace sinter
