#include "compiler/simplify/graph_sweep.h"

#include "ir/shape/extent_copy.h"
#include "sinter/error.h"

#include <algorithm>
#include <optional>

namespace sinter {

namespace {

bool is_bound(const Node& node) { return node.op == Op::input || node.op == Op::scalar; }

void copy_label(GraphData& to, const Node* copy, const GraphData& from, const Node* node) {
  const std::string_view label = from.label(node);
  if (!label.empty() && to.label(copy).empty()) to.set_label(copy, label);
}

bool same_type(const Node& a, const Node& b) {
  return a.dtype == b.dtype && std::ranges::equal(a.shape, b.shape);
}

/// Returns the replacement of a node that was just made in the copy.
using ReplaceCopy = std::function<const Node*(GraphData&, const Node*)>;

/// Copies nodes into another, empty graph, operands first, and replaces each one as it is made.
/// Copies extents too, unless the graphs share them. With `symbols`, the copies are numbers.
class Copier {
 public:
  Copier(const GraphData& from, GraphData& to, const ReplaceCopy& replace,
         std::span<const std::int64_t> symbols)
      : from_(from),
        to_(to),
        replace_(replace),
        has_other_extents_(!symbols.empty()),
        copies_(from.nodes.size()) {
    if (from.extents != to.extents) extents_.emplace(*from.extents, *to.extents, symbols);
  }

  /// The replacement of `node` in the copy.
  const Node* copy(const Node* node) {
    const Node*& result = copies_[node->id];
    if (result) return result;
    const Node* const made = make(node);
    result = made;
    if (replace_ && !is_bound(*node)) result = replace_(to_, made);
    ensure(same_type(*made, *result), "a node was replaced by a node of another type");
    if (result != made) {
      if (is_unchanged()) unchanged_.assign(made->id + 1, true);
      copy_label(to_, result, from_, node);
    }
    return result;
  }
  /// True if no node was replaced by another one.
  bool is_unchanged() const { return unchanged_.empty(); }
  /// True if `copy`, a node of the new graph, equals the original node.
  bool is_unchanged(const Node* copy) const {
    return copy->id < unchanged_.size() && unchanged_[copy->id];
  }

  Extent copy_of(Extent extent) { return extents_ ? (*extents_)(extent) : extent; }
  std::vector<Extent> copy_of(std::span<const Extent> extents) {
    std::vector<Extent> result;
    for (const Extent extent : extents) result.push_back(copy_of(extent));
    return result;
  }

  /// File names of parsed text belong to the graph that the text was parsed into.
  Location copy_of(Location location) {
    if (location.file != last_file_.original) {
      const char*& file = files_[location.file];
      if (!file) file = to_.copy_text(location.file);
      last_file_ = {.original = location.file, .copy = file};
    }
    return {.file = last_file_.copy, .line = location.line};
  }

 private:
  /// Makes `node` with the replacements of its operands.
  const Node* make(const Node* node) {
    llvm::SmallVector<const Node*, 4> operands;
    for (const Node* operand : node->operands) operands.push_back(copies_[operand->id]);
    // Shares the shape of an operand if the original node does.
    std::vector<Extent> own_shape;
    std::span<const Extent> shape;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (node->operand(i)->shape.data() == node->shape.data() &&
          node->operand(i)->rank() == node->rank())
        shape = operands[i]->shape;
    if (shape.empty()) shape = extents_ ? own_shape = copy_of(node->shape) : node->shape;
    const auto create = [&](std::span<const Attribute> attributes) {
      const NodeDraft draft{.op = node->op,
                            .dtype = node->dtype,
                            .operands = operands,
                            .shape = shape,
                            .attributes = attributes};
      const Location location = copy_of(from_.location(node));
      if (has_other_extents_) return to_.make(draft, location);
      if (is_unchanged()) return to_.create_node(draft, location, node->hash);
      if (!std::ranges::equal(operands, node->operands, {}, &Node::hash, &Node::hash))
        return to_.make(draft, location);
      const Node* const copy = to_.make(draft, location, node->hash);
      unchanged_.resize(to_.nodes.size());
      unchanged_[copy->id] = true;
      return copy;
    };
    const Node* const made = extents_ && !node->attributes.empty()
                                 ? with_own_extents(node->attributes, create)
                                 : create(node->attributes);
    copy_label(to_, made, from_, node);
    return made;
  }

  /// Calls `make` with `attributes` whose extents belong to the new graph.
  const Node* with_own_extents(std::span<const Attribute> attributes, const auto& make) {
    std::vector<std::vector<Extent>> extents;  // backing storage of the attributes' spans
    llvm::SmallVector<Attribute, 4> own(attributes.begin(), attributes.end());
    for (Attribute& attribute : own) {
      attribute.extent = copy_of(attribute.extent);
      if (attribute.extents.empty()) continue;
      attribute.extents = extents.emplace_back(copy_of(attribute.extents));
    }
    return make(own);
  }

  const GraphData& from_;
  GraphData& to_;
  const ReplaceCopy& replace_;
  bool has_other_extents_ = false;       ///< the hashes differ, and nodes may become equal
  std::vector<std::uint8_t> unchanged_;  ///< by the copy's id; empty while all nodes are the same
  std::optional<ExtentCopier> extents_;  ///< none if the graphs share their extents
  std::vector<const Node*> copies_;      ///< by id
  DenseMap<const char*, const char*> files_;
  struct File {
    const char* original = nullptr;
    const char* copy = nullptr;
  };
  File last_file_;  ///< consecutive nodes usually come from one file
};

/// `nodes` are the reachable ones.
Graph copy_into(std::unique_ptr<GraphData> result, const GraphData& from,
                std::span<const Node* const> nodes, const ReplaceCopy& replace,
                std::span<const std::int64_t> symbols = {}) {
  Copier copier(from, *result, replace, symbols);
  result->custom_ops = from.custom_ops;
  result->reserve(nodes.size());
  result->inputs.reserve(from.inputs.size());
  result->outputs.reserve(from.outputs.size());
  for (const InputInfo& input : from.inputs) {
    result->inputs.push_back(input);
    result->inputs.back().node = copier.copy(input.node);
  }
  for (const Node* node : nodes) copier.copy(node);
  for (const OutputInfo& output : from.outputs)
    result->outputs.push_back({.name = output.name,
                               .node = copier.copy(output.node),
                               .strides = copier.copy_of(output.strides),
                               .location = copier.copy_of(output.location),
                               .is_unwritten = output.is_unwritten});
  for (const UpdateInfo& update : from.updates)
    result->updates.push_back({.parameter = copier.copy(update.parameter),
                               .value = copier.copy(update.value),
                               .location = copier.copy_of(update.location)});
  if (!copier.is_unchanged()) {
    // Unchanged nodes come first, then nodes that follow from replacements. Groups merge in node
    // order, and this order moves 6 % fewer bytes than the recorded one in three programs of the
    // corpus.
    std::vector<const Node*> needed = reachable(*result);
    std::ranges::stable_partition(needed,
                                  [&](const Node* node) { return copier.is_unchanged(node); });
    result->retain_nodes(needed);
  } else if (result->nodes.size() == nodes.size()) {  // else there are unused inputs
    result->mark_all_live();
  }
  return Graph(std::move(result));
}

}  // namespace

Graph clone(const Graph& graph) { return clone_rewritten(graph, reachable(graph.data()), {}); }

Graph clone_with_sizes(const Graph& graph, std::span<const std::int64_t> symbols) {
  return copy_into(std::make_unique<GraphData>(graph.data().name), graph.data(),
                   reachable(graph.data()), {}, symbols);
}

Graph clone_rewritten(const Graph& graph, std::span<const Node* const> needed,
                      const ReplaceCopy& replace) {
  return copy_into(std::make_unique<GraphData>(graph.data().name), graph.data(), needed, replace);
}

Graph compact(const Graph& graph, std::span<const Node* const> reachable) {
  auto result = std::make_unique<GraphData>(graph.data().name);
  result->extents = graph.data().extents;
  return copy_into(std::move(result), graph.data(), reachable, {});
}

std::vector<const Node*> reachable(const GraphData& graph) {
  if (graph.are_all_live()) return graph.nodes;
  std::vector<std::uint8_t> needed(graph.nodes.size());
  for (const OutputInfo& output : graph.outputs) needed[output.node->id] = true;
  for (const UpdateInfo& update : graph.updates) needed[update.value->id] = true;
  std::size_t count = 0;
  // Operands have smaller ids, so one downward walk visits every user before its operands.
  for (std::size_t id = graph.nodes.size(); id-- > 0;) {
    if (!needed[id]) continue;
    ++count;
    for (const Node* operand : graph.nodes[id]->operands) needed[operand->id] = true;
  }
  std::vector<const Node*> result;
  result.reserve(count);
  for (std::size_t id = 0; id < needed.size(); ++id)
    if (needed[id]) result.push_back(graph.nodes[id]);
  return result;
}

std::vector<int> use_counts(const GraphData& graph) {
  std::vector<int> uses(graph.nodes.size());
  for (const Node* node : reachable(graph))
    for (const Node* operand : node->operands) ++uses[operand->id];
  for (const OutputInfo& output : graph.outputs) ++uses[output.node->id];
  for (const UpdateInfo& update : graph.updates) ++uses[update.value->id];
  return uses;
}

const Node* with_operands(GraphData& graph, const Node& node,
                          std::span<const Node* const> operands) {
  if (std::ranges::equal(node.operands, operands)) return &node;
  return graph.make({.op = node.op,
                     .dtype = node.dtype,
                     .operands = operands,
                     .shape = node.shape,
                     .attributes = node.attributes},
                    graph.location(&node));
}

bool sweep(GraphData& graph,
           const std::function<const Node*(const Node& node,
                                           std::span<const Node* const> operands)>& replace) {
  const std::vector<const Node*> nodes = reachable(graph);
  std::vector<const Node*> replacements(graph.nodes.size());  // by id
  const auto replacement = [&](const Node* node) { return replacements[node->id]; };
  for (const Node* node : nodes) {
    llvm::SmallVector<const Node*, 4> operands;
    for (const Node* operand : node->operands) operands.push_back(replacement(operand));
    const Node* result = replace(*node, operands);
    ensure(same_type(*node, *result), "a node was replaced by a node of another type");
    if (result != node) copy_label(graph, result, graph, node);
    replacements[node->id] = result;
  }
  bool changed = false;
  for (OutputInfo& output : graph.outputs) {
    changed |= output.node != replacement(output.node);
    output.node = replacement(output.node);
  }
  for (UpdateInfo& update : graph.updates) {
    changed |= update.value != replacement(update.value);
    update.value = replacement(update.value);
  }
  if (changed) graph.invalidate_liveness();
  return changed;
}

bool rewrite(GraphData& graph, const Replace& replace) {
  return sweep(graph, [&](const Node& node, std::span<const Node* const> operands) {
    const Node* own = with_operands(graph, node, operands);
    return is_bound(node) ? own : replace(own);
  });
}

const Node* copy_of(GraphData& data, const Node* node) {
  const Attribute shape = {.extents = node->shape};
  return data.make({.op = Op::reshape,
                    .dtype = node->dtype,
                    .operands = {&node, 1},
                    .shape = node->shape,
                    .attributes = {&shape, 1}},
                   data.location(node));
}

const Node* as_value(GraphData& data, const Node* node) {
  return node->op == Op::input ? copy_of(data, node) : node;
}

}  // namespace sinter
