#include "tests/virtual_gpu/driver/graph.h"

#include <algorithm>
#include <set>

#include "tests/virtual_gpu/driver/copy.h"
#include "tests/virtual_gpu/driver/launch.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// Collects the nodes of a graph and its children. A child graph is between two markers.
class Flattener {
 public:
  explicit Flattener(bool starts_early) : starts_early_(starts_early) {}

  std::shared_ptr<const FlatGraph> run(const GraphObject& graph) {
    add(graph, {});
    auto ancestors = std::make_shared<Ancestors>();
    for (const FlatGraph::Node& node : flat_->nodes) {
      std::vector<bool> before(flat_->nodes.size());
      for (const FlatGraph::Dependency& one : node.dependencies) {
        const auto index = static_cast<std::size_t>(one.node);
        if (!one.is_programmatic) before[index] = true;
        for (std::size_t i = 0; i < index; ++i)
          if ((*ancestors)[index][i]) before[i] = true;
      }
      ancestors->push_back(std::move(before));
    }
    flat_->ancestors = std::move(ancestors);
    return flat_;
  }

 private:
  using Dependencies = std::vector<FlatGraph::Dependency>;

  int push(std::shared_ptr<const Operation> operation, Dependencies dependencies) {
    flat_->nodes.push_back({std::move(operation), std::move(dependencies)});
    return static_cast<int>(flat_->nodes.size()) - 1;
  }

  /// Returns the nodes without dependents. Nodes without edges wait for `roots`.
  Dependencies add(const GraphObject& graph, const Dependencies& roots) {
    std::vector<int> ends(graph.nodes.size(), -1);
    std::vector<bool> has_dependents(graph.nodes.size());
    for (const NodeObject* const node : execution_order(graph)) {
      Dependencies dependencies;
      for (const Edge& edge : node->edges) {
        dependencies.push_back({ends[edge.from->index], is_early(edge, *node)});
        has_dependents[edge.from->index] = true;
      }
      if (dependencies.empty()) dependencies = roots;
      ends[node->index] = node->child ? add_child(*node->child, std::move(dependencies))
                                      : push(node->operation, std::move(dependencies));
    }
    Dependencies leaves;
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (!has_dependents[i]) leaves.push_back({ends[i], false});
    return leaves;
  }

  bool is_early(const Edge& edge, const NodeObject& to) const {
    if (edge.is_programmatic) return true;
    const auto* const launch = std::get_if<KernelLaunch>(to.operation.get());
    return starts_early_ && launch && may_wait_itself(*launch) &&
           std::holds_alternative<KernelLaunch>(*edge.from->operation);
  }

  int add_child(const GraphObject& child, Dependencies dependencies) {
    const int begin = push(make_operation(Empty{}), std::move(dependencies));
    Dependencies leaves = add(child, {{begin, false}});
    if (leaves.empty()) return begin;
    return push(make_operation(Empty{}), std::move(leaves));
  }

  const bool starts_early_;
  std::shared_ptr<FlatGraph> flat_ = std::make_shared<FlatGraph>();
};

void refuse_update(const std::string& reason) {
  throw Refusal(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, reason);
}

/// `update` after it has replaced `old` in an executable graph.
KernelLaunch updated_launch(const KernelLaunch& old, KernelLaunch update) {
  if (!old.has_cluster && !update.has_cluster) return update;  // those of the functions
  update.has_cluster = old.has_cluster;
  update.cluster = old.cluster;
  return update;
}

void check_update(const KernelLaunch& old, const KernelLaunch& update) {
  if (old.function->context != update.function->context)
    refuse_update("the context of a kernel cannot change");
  if (old.is_cooperative != update.is_cooperative)
    refuse_update("a kernel cannot become cooperative, or cease to be");
  try {
    check_combination(updated_launch(old, update));
  } catch (const Refusal& refusal) {
    refuse_update("the cluster of a kernel cannot change: " + refusal.reason);
  }
}

MemoryKind kind_at(std::uint64_t address) {
  const Allocation* const found = find_range(*Machine::get().memory, address, 1);
  return found ? found->kind : MemoryKind::pinned;
}

int device_at(std::uint64_t address) {
  const Allocation* const found = find_range(*Machine::get().memory, address, 1);
  return found && found->kind != MemoryKind::pinned ? found->device : -1;
}

void check_update(const Copy& old, const Copy& update) {
  if (old.kind != update.kind) refuse_update("the direction of a copy cannot change");
  if (device_at(old.to) != device_at(update.to) || device_at(old.from) != device_at(update.from) ||
      kind_at(old.to) != kind_at(update.to))
    refuse_update("the devices of a copy cannot change");
}

void check_update(const Fill& old, const Fill& update) {
  if (device_at(old.to) != device_at(update.to))
    refuse_update("the device of a memset cannot change");
}

void check_update(const NodeObject& old, const NodeObject& update) {
  if (old.operation->index() != update.operation->index() || !old.child != !update.child)
    refuse_update("the type of a node has changed");
  if (old.edges.size() != update.edges.size()) refuse_update("the edges have changed");
  for (const Edge& edge : update.edges)
    if (std::ranges::none_of(old.edges, [&](const Edge& one) {
          return one.from->index == edge.from->index && one.is_programmatic == edge.is_programmatic;
        }))
      refuse_update("the edges have changed");
  std::visit(
      [&]<class T>(const T& work) {
        if constexpr (std::is_same_v<T, KernelLaunch> || std::is_same_v<T, Copy> ||
                      std::is_same_v<T, Fill>)
          check_update(work, std::get<T>(*update.operation));
      },
      *old.operation);
}

void check_update(const GraphObject& graph, const GraphObject& update) {
  if (graph.nodes.size() != update.nodes.size()) refuse_update("the number of nodes has changed");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    check_update(*graph.nodes[i], *update.nodes[i]);
    if (graph.nodes[i]->child) check_update(*graph.nodes[i]->child, *update.nodes[i]->child);
  }
}

void apply_update(GraphObject& graph, const GraphObject& update) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::shared_ptr<const Operation>& operation = graph.nodes[i]->operation;
    if (const auto* const old = std::get_if<KernelLaunch>(operation.get()))
      operation =
          make_operation(updated_launch(*old, std::get<KernelLaunch>(*update.nodes[i]->operation)));
    else
      operation = update.nodes[i]->operation;
    if (graph.nodes[i]->child) apply_update(*graph.nodes[i]->child, *update.nodes[i]->child);
  }
  std::vector<UserReference> references = update.references;
  graph.references.swap(references);
}

}  // namespace

void release_references(Machine& machine, UserObject& object, unsigned long long count) {
  object.total -= count;
  if (object.total > 0) return;
  machine.handles.remove(object.handle);
  machine.executor.call_soon(object.destroy, object.ends);
}

void note_end(const GraphObject& graph, const OrderRecord& end) {
  for (const UserReference& reference : graph.references)
    reference.object().ends[end.point.chain] = end;
  for (const std::shared_ptr<NodeObject>& node : graph.nodes)
    if (node->child) note_end(*node->child, end);
}

NodeObject& add_node(Machine& machine, GraphObject& graph, std::vector<Edge> edges,
                     std::shared_ptr<const Operation> operation,
                     std::shared_ptr<GraphObject> child) {
  auto node = std::make_shared<NodeObject>();
  node->graph = &graph;
  node->operation = std::move(operation);
  node->child = std::move(child);
  node->edges = std::move(edges);
  node->index = graph.nodes.size();
  machine.handles.add(node);
  graph.nodes.push_back(std::move(node));
  return *graph.nodes.back();
}

std::shared_ptr<GraphObject> copy_graph(const GraphObject& graph) {
  auto copy = std::make_shared<GraphObject>();
  copy->references.reserve(graph.references.size());
  for (const UserReference& one : graph.references) copy->references.push_back(one);
  for (const std::shared_ptr<NodeObject>& node : graph.nodes) {
    auto one = std::make_shared<NodeObject>(*node);
    one->graph = copy.get();
    one->origin = node->handle ? node->handle : node->origin;
    one->handle = nullptr;
    if (node->child) one->child = copy_graph(*node->child);
    copy->nodes.push_back(std::move(one));
  }
  for (const std::shared_ptr<NodeObject>& node : copy->nodes)
    for (Edge& edge : node->edges) edge.from = copy->nodes[edge.from->index].get();
  return copy;
}

void add_embedded_graph(Machine& machine, const std::shared_ptr<GraphObject>& graph) {
  if (graph->handle) return;
  graph->is_embedded = true;
  machine.handles.add(graph);
  for (const std::shared_ptr<NodeObject>& node : graph->nodes) machine.handles.add(node);
}

void forget_graph(Machine& machine, GraphObject& graph) {
  for (const std::shared_ptr<NodeObject>& node : graph.nodes) {
    machine.handles.remove(node->handle);
    if (node->child) forget_graph(machine, *node->child);
  }
  machine.handles.remove(graph.handle);
}

bool has_pool_work(const GraphObject& graph) {
  return std::ranges::any_of(graph.nodes, [](const std::shared_ptr<NodeObject>& node) {
    return std::holds_alternative<PoolAllocation>(*node->operation) ||
           std::holds_alternative<PoolRelease>(*node->operation) ||
           (node->child && has_pool_work(*node->child));
  });
}

std::string unloaded_kernel(const GraphObject& graph) {
  for (const std::shared_ptr<NodeObject>& node : graph.nodes) {
    if (const auto* const kernel = std::get_if<KernelLaunch>(node->operation.get());
        kernel && kernel->function->is_unloaded)
      return fmt::format("the module of kernel {} was unloaded", kernel->function->info.name);
    if (!node->child) continue;
    if (std::string inner = unloaded_kernel(*node->child); !inner.empty()) return inner;
  }
  return {};
}

std::vector<const NodeObject*> execution_order(const GraphObject& graph) {
  std::vector<std::size_t> waits(graph.nodes.size());
  std::vector<std::vector<std::size_t>> dependents(graph.nodes.size());
  std::set<std::size_t> ready;
  for (const std::shared_ptr<NodeObject>& node : graph.nodes) {
    waits[node->index] = node->edges.size();
    if (node->edges.empty()) ready.insert(node->index);
    for (const Edge& edge : node->edges) dependents[edge.from->index].push_back(node->index);
  }
  std::vector<const NodeObject*> order;
  while (!ready.empty()) {
    const std::size_t first = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(graph.nodes[first].get());
    for (const std::size_t dependent : dependents[first])
      if (--waits[dependent] == 0) ready.insert(dependent);
  }
  return order;
}

std::shared_ptr<const FlatGraph> flatten(const GraphObject& graph, bool starts_early) {
  return Flattener(starts_early).run(graph);
}

void update_graph(GraphObject& graph, const GraphObject& update) {
  check_update(graph, update);
  apply_update(graph, update);
}

}  // namespace sinter::virtual_gpu::driver
