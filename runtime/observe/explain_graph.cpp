#include "runtime/observe/explain_graph.h"

#include <algorithm>

#include "compiler/body/sub_buffer.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/graph/opaque_node.h"
#include "ir/graph/operand_index.h"
#include "ir/record/opaque.h"
#include "ir/text/print.h"
#include "runtime/observe/emitted.h"
#include "sinter/error.h"

namespace sinter {

namespace {

bool is_bound_value(const Node& node) { return node.op == Op::input || node.op == Op::scalar; }

/// A copy of `graph` in which the source line of each node is its index plus 1. Passes preserve
/// source locations, so each node of the plan tells which recorded node it comes from.
Graph with_index_as_location(const Graph& graph) {
  const std::vector<const Node*> needed = reachable(graph.data());
  std::size_t next = 0;
  return clone_rewritten(graph, needed, [&](GraphData& copy, const Node* node) {
    while (is_bound_value(*needed[next])) ++next;
    copy.set_locations(node->id, {.file = "", .line = static_cast<int>(needed[next++]->id) + 1});
    return node;
  });
}

/// The sections of horizontally fused kernels, and the kernels that are not.
template <class Visit>
void for_each_group(const Program& program, Visit visit) {
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel& kernel = program.kernels[i];
    if (kernel.sections.empty()) visit(static_cast<int>(i), kernel);
    for (const Kernel& section : kernel.sections) visit(static_cast<int>(i), section);
  }
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

/// The groups and emitted values that a recorded node ended up in.
struct NodePlacement {
  std::vector<std::string> groups;  ///< compute the node or a part of it
  std::vector<std::string> values;  ///< its names in these groups
};

/// The placement of each recorded node, by index.
std::vector<NodePlacement> node_placements(const Graph& graph, const Program& program,
                                           const Target& target, const PlanOptions& options) {
  const Program numbered =
      plan(with_index_as_location(graph), target, {.symbols = program.facts.symbols}, options);
  ensure(numbered.kernels.size() == program.kernels.size(),
         "a graph is planned differently if its nodes have other locations");
  std::vector<NodePlacement> result(graph.data().nodes.size());
  for_each_group(numbered, [&](int, const Kernel& group) {
    for (const Node* node : group.nodes) {
      const int number = numbered.graph->data().location(node).line;
      if (number == 0) continue;
      NodePlacement& placement = result[static_cast<std::size_t>(number) - 1];
      add_once(placement.groups, group.name);
      if (const std::string value = numbered.names().of(node); !value.empty())
        add_once(placement.values, value);
    }
  });
  return result;
}

std::string role_of(const Node& node, bool is_computed) {
  if (node.op == Op::input) return "input";
  if (node.op == Op::scalar) return "scalar";
  if (is_computed) return "computed";
  if (node.op == Op::constant) return "number";
  return is_view(node) ? "view" : "simplified";
}

std::string text_of(const Node& node, const ValueNames& names) {
  if (!is_opaque(node)) return statement_text(node, names);
  const Node* const results[] = {&node};
  return opaque_text(results, names);
}

/// Adds nodes that are not computed (views, simplified nodes) to the groups of their users.
void add_groups_of_users(std::vector<RecordedNode>& nodes) {
  for (std::size_t i = nodes.size(); i-- > 0;)
    for (const int operand : nodes[i].operands) {
      RecordedNode& used = nodes[static_cast<std::size_t>(operand)];
      if (used.role == "view" || used.role == "simplified")
        for (const std::string& group : nodes[i].groups) add_once(used.groups, group);
    }
}

void add_nodes(Explanation& result, const Graph& graph,
               std::vector<NodePlacement> node_placements) {
  const GraphData& data = graph.data();
  const ValueNames names(data);
  std::vector<int> index_of(data.nodes.size(), -1);
  for (const Node* node : data.nodes) {
    const std::string name = names.is_live(node) ? names.of(node) : "";
    if (name.empty()) continue;
    index_of[node->id] = static_cast<int>(result.nodes.size());
    NodePlacement& placement = node_placements[node->id];
    RecordedNode recorded{.name = name,
                          .op = std::string(info(node->op).name),
                          .text = is_bound_value(*node) ? "" : text_of(*node, names),
                          .dtype = std::string(sinter::name(node->dtype)),
                          .shape = to_string(node->shape),
                          .label = std::string(data.label(node)),
                          .place = data.location_text(node),
                          .role = role_of(*node, !placement.groups.empty()),
                          .groups = std::move(placement.groups),
                          .emitted_as = std::move(placement.values)};
    for (const Node* operand : node->operands)
      if (const int index = index_of[operand->id]; index >= 0) recorded.operands.push_back(index);
    result.nodes.push_back(std::move(recorded));
  }
  const auto recorded = [&](const Node* node) -> RecordedNode& {
    return result.nodes[static_cast<std::size_t>(index_of[node->id])];
  };
  for (const InputInfo& input : data.inputs) recorded(input.node).text = input_text(input, names);
  for (const OutputInfo& output : data.outputs)
    recorded(output.node).outputs.push_back(output.name);
  for (const UpdateInfo& update : data.updates)
    recorded(update.value).updates = names.of(update.parameter);
  add_groups_of_users(result.nodes);
}

/// Reports the groups of a program in order, with the groups that wrote the arrays they read.
class GroupReporter {
 public:
  GroupReporter(const Program& program, std::span<const std::int64_t> symbols)
      : program_(program), symbols_(symbols), writers_(program.buffers.size()) {}

  GroupExplanation report(int kernel, const Kernel& group) {
    GroupExplanation result{.name = group.name,
                            .kernel = kernel,
                            .kind = std::string(name(group.kind)),
                            .phase = group.phase,
                            .list = group.foreach_list};
    for (const int buffer : group.reads) {
      result.reads.push_back(use_of(buffer));
      result.reads.back().from = writers_[array_of(buffer)];
    }
    for (const Store& store : group.stores) {
      result.writes.push_back(use_of(store.buffer));
      add_once(writers_[array_of(store.buffer)], group.name);
    }
    return result;
  }

 private:
  const Buffer& buffer(int number) const {
    return program_.buffers[static_cast<std::size_t>(number)];
  }
  /// The array that contains a sub-buffer. Groups may write parts and read the whole, or vice
  /// versa.
  std::size_t array_of(int number) const {
    const int parent = buffer(number).parent;
    return static_cast<std::size_t>(parent < 0 ? number : parent);
  }
  ArrayUse use_of(int number) const {
    static constexpr const char* kKinds[] = {"input", "output", "temporary"};
    const Buffer& used = buffer(number);
    return {
        .array = program_.name_of(used),
        .kind = kKinds[static_cast<std::size_t>(buffer(static_cast<int>(array_of(number))).kind)],
        .bytes = bytes_of(used, symbols_)};
  }

  const Program& program_;
  std::span<const std::int64_t> symbols_;
  std::vector<std::vector<std::string>> writers_;  ///< of the groups so far, by buffer
};

}  // namespace

void add_graph(Explanation& result, const Graph& graph, const Program& program,
               const Target& target, std::span<const std::int64_t> symbols,
               const PlanOptions& options) {
  GroupReporter reporter(program, symbols);
  for_each_group(program, [&](int kernel, const Kernel& group) {
    result.groups.push_back(reporter.report(kernel, group));
  });
  add_nodes(result, graph, node_placements(graph, program, target, without_views(graph, options)));
}

}  // namespace sinter
