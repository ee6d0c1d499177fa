// The entry points for CUDA Graphs.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/graph.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::host {
namespace {

Handles<CUgraph, GraphState>& graphs() { return Handles<CUgraph, GraphState>::all(); }
Handles<CUgraphNode, NodeState>& nodes() { return Handles<CUgraphNode, NodeState>::all(); }
Handles<CUgraphExec, ExecState>& execs() { return Handles<CUgraphExec, ExecState>::all(); }

CUresult add_node(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                  std::size_t count, Work work) {
  const auto state = graphs().find(graph);
  if (!state || !handle) return invalid_handle("graph");
  std::vector<std::size_t> waits_for;
  for (std::size_t i = 0; i < count; ++i) {
    const auto node = nodes().find(dependencies[i]);
    if (!node || node->graph != state.get() ||
        std::ranges::find(waits_for, node->index) != waits_for.end())
      return fail(CUDA_ERROR_INVALID_VALUE,
                  fmt::format("dependency {} is not a node of this graph, or is named twice", i));
    waits_for.push_back(node->index);
  }
  if (const CUresult result = check_changeable(*state); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(state->mutex);
  *handle = state->nodes[append_node(*state, std::move(work), waits_for)].handle;
  return CUDA_SUCCESS;
}

CUresult make_kernel_work(const CUDA_KERNEL_NODE_PARAMS* parameters, KernelWork& work) {
  if (!parameters) return fail(CUDA_ERROR_INVALID_VALUE, "null parameters");
  work.function = parameters->func;
  return make_launch(parameters->func,
                     {{parameters->gridDimX, parameters->gridDimY, parameters->gridDimZ},
                      {parameters->blockDimX, parameters->blockDimY, parameters->blockDimZ},
                      parameters->sharedMemBytes},
                     parameters->kernelParams, parameters->extra, work.launch);
}

/// A snapshot of `graph`, as the work of a child graph node.
CUresult child_of(CUgraph graph, ChildWork& work) {
  const auto state = graphs().find(graph);
  if (!state) return invalid_handle("child graph");
  const std::lock_guard lock(state->mutex);
  work.graph = std::make_shared<const GraphContents>(*state);
  return CUDA_SUCCESS;
}

/// The contents of `update` after they have replaced `old` in an instantiated graph. Null if they
/// may not: cuGraphExecUpdate. Kernels keep their cluster sizes, as with driver 580
/// (bench/results/h200/2026-11-27).
std::shared_ptr<const GraphContents> updated_contents(const GraphContents& old,
                                                      const GraphContents& update) {
  const auto is_alike = [](const Node& x, const Node& y) { return x.users == y.users; };
  if (!std::ranges::equal(old.nodes, update.nodes, is_alike)) return nullptr;
  auto result = std::make_shared<GraphContents>(update);
  for (std::size_t node = 0; node < old.works.size(); ++node) {
    const Work& before = *old.works[node];
    std::shared_ptr<const Work>& work = result->works[node];
    if (before.index() != work->index()) return nullptr;
    if (const auto* const child = std::get_if<ChildWork>(work.get())) {
      ChildWork changed{updated_contents(*std::get<ChildWork>(before).graph, *child->graph)};
      if (!changed.graph) return nullptr;
      work = std::make_shared<const Work>(std::move(changed));
    } else if (const auto* const kernel = std::get_if<KernelWork>(work.get())) {
      const KernelLaunch& launch = std::get<KernelWork>(before).launch;
      if (kernel->launch.is_cooperative != launch.is_cooperative) return nullptr;
      if (kernel->launch.cluster == launch.cluster) continue;
      KernelWork changed = *kernel;
      changed.launch.cluster = launch.cluster;
      if (check_clusters(changed.launch) != CUDA_SUCCESS) return nullptr;
      work = std::make_shared<const Work>(std::move(changed));
    }
  }
  return result;
}

/// Replaces the work of a node in an instantiated graph. The kind of work must be equal.
CUresult replace_work(CUgraphExec exec, CUgraphNode node, Work work) {
  const auto state = execs().find(exec);
  if (!state) return invalid_handle("executable graph");
  const auto node_state = nodes().find(node);
  const std::lock_guard lock(state->mutex);
  if (!node_state || node_state->graph != state->graph.get() ||
      node_state->index >= state->works.size())
    return invalid_handle("node of the graph that it was made from");
  std::shared_ptr<const Work>& old = state->works[node_state->index];
  if (old->index() != work.index())
    return fail(CUDA_ERROR_INVALID_VALUE, "the node is of another kind");
  if (auto* const child = std::get_if<ChildWork>(&work)) {
    child->graph = updated_contents(*std::get<ChildWork>(*old).graph, *child->graph);
    if (!child->graph)
      return fail(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                  "the child graph has other nodes, dependencies or cooperative kernels than the "
                  "one before, or its grids are no multiples of the clusters");
  }
  if (auto* const kernel = std::get_if<KernelWork>(&work)) {  // attributes stay
    const KernelLaunch& before = std::get<KernelWork>(*old).launch;
    kernel->launch.is_cooperative = before.is_cooperative;
    kernel->launch.cluster = before.cluster;
    if (const CUresult result = check_clusters(kernel->launch); result != CUDA_SUCCESS)
      return result;
  }
  old = std::make_shared<const Work>(std::move(work));
  return CUDA_SUCCESS;
}

/// Fails if a kernel of `works`, or of its child graphs, cannot be launched.
CUresult check_kernels(const Works& works) {
  for (const auto& work : works) {
    if (const auto* const child = std::get_if<ChildWork>(work.get())) {
      if (const CUresult result = check_kernels(child->graph->works); result != CUDA_SUCCESS)
        return result;
    }
    const auto* const kernel = std::get_if<KernelWork>(work.get());
    if (!kernel) continue;
    if (!find_function(kernel->function))
      return fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("the module of kernel {} was unloaded",
                                                         kernel->launch.kernel->entry));
    if (const CUresult result = check_residence(kernel->launch); result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

std::size_t append_node(GraphState& graph, Work work, std::span<const std::size_t> waits_for,
                        bool starts_early) {
  const std::size_t index = graph.nodes.size();
  try {
    graph.nodes.push_back({.handle = nullptr, .users = {}, .waits = waits_for.size()});
    for (const std::size_t before : waits_for)
      graph.nodes[before].users.push_back({.to = index, .is_programmatic = starts_early});
    graph.works.push_back(std::make_shared<const Work>(std::move(work)));
    graph.nodes[index].handle = nodes().add(std::make_shared<NodeState>(NodeState{&graph, index}));
  } catch (...) {  // out of memory: the graph stays as it was
    for (const std::size_t before : waits_for)
      std::erase_if(graph.nodes[before].users, [&](const Edge& edge) { return edge.to == index; });
    graph.nodes.resize(index);
    graph.works.resize(index);
    throw;
  }
  return index;
}

CUgraph add_graph_handle(std::shared_ptr<GraphState> graph) {
  return graphs().add(std::move(graph));
}

void remove_graph_handle(CUgraph graph) {
  const auto state = graphs().remove(graph);
  if (!state) return;
  for (const Node& node : state->nodes) nodes().remove(node.handle);
  for (const auto& [node, embedded] : state->embedded) remove_graph_handle(embedded);
}

std::shared_ptr<GraphState> find_graph(CUgraph graph) { return graphs().find(graph); }
std::shared_ptr<NodeState> find_node(CUgraphNode node) { return nodes().find(node); }

bool find_nodes(const GraphState& graph, std::span<const CUgraphNode> handles,
                std::vector<std::size_t>& indices) {
  for (const CUgraphNode handle : handles) {
    const auto node = nodes().find(handle);
    if (!node || node->graph != &graph) return false;
    indices.push_back(node->index);
  }
  return true;
}

namespace entry {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (!graph || flags != 0) return fail(CUDA_ERROR_INVALID_VALUE, "the flags must be 0");
  *graph = graphs().add(std::make_shared<GraphState>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  const auto state = graphs().find(graph);
  if (!state) return invalid_handle("graph");
  if (state->is_embedded)
    return fail(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a child graph node");
  if (const std::lock_guard lock(state->mutex); state->is_being_captured)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the graph is being captured into");
  remove_graph_handle(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              std::size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  KernelWork work;
  if (const CUresult result = make_kernel_work(parameters, work); result != CUDA_SUCCESS)
    return result;
  return add_node(node, graph, dependencies, count, std::move(work));
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       const CUlaunchAttributeValue* value) {
  const auto node_state = nodes().find(node);
  if (!node_state || !value) return invalid_handle("node");
  GraphState& graph = *node_state->graph;
  if (const CUresult result = check_changeable(graph); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(graph.mutex);
  std::shared_ptr<const Work>& work = graph.works[node_state->index];
  const auto* const kernel = std::get_if<KernelWork>(work.get());
  if (!kernel) return fail(CUDA_ERROR_INVALID_VALUE, "the node is not a kernel");
  KernelWork changed = *kernel;
  if (const CUresult result = apply_attribute(attribute, *value, changed.launch);
      result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = check_clusters(changed.launch); result != CUDA_SUCCESS) return result;
  work = std::make_shared<const Work>(std::move(changed));
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             std::size_t count) {
  return add_node(node, graph, dependencies, count, std::monostate());
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  std::size_t count, CUgraph child) {
  if (graph == child) return fail(CUDA_ERROR_INVALID_VALUE, "a graph cannot be a node of itself");
  ChildWork work;
  if (const CUresult result = child_of(child, work); result != CUDA_SUCCESS) return result;
  return add_node(node, graph, dependencies, count, std::move(work));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  const auto state = graphs().find(graph);
  if (!state || !exec) return invalid_handle("graph");
  auto exec_state = std::make_shared<ExecState>();
  const std::lock_guard lock(state->mutex);
  if (state->is_being_captured)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the graph is being captured into");
  if (!is_acyclic(state->nodes))
    return fail(CUDA_ERROR_INVALID_VALUE, "a node of the graph depends on itself");
  exec_state->graph = state;
  exec_state->nodes = std::make_shared<const Nodes>(state->nodes);
  exec_state->works = state->works;
  exec_state->user_objects = std::make_shared<const UserObjects>(state->user_objects);
  *exec = execs().add(std::move(exec_state));
  return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS* parameters) {
  KernelWork work;
  if (const CUresult result = make_kernel_work(parameters, work); result != CUDA_SUCCESS)
    return result;
  return replace_work(exec, node, std::move(work));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  ChildWork work;
  if (const CUresult result = child_of(child, work); result != CUDA_SUCCESS) return result;
  return replace_work(exec, node, std::move(work));
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return execs().remove(exec) ? CUDA_SUCCESS : invalid_handle("executable graph");
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const auto stream_state = find_stream(stream);
  if (!stream_state) return invalid_stream();
  const auto state = execs().find(exec);
  if (!state) return invalid_handle("executable graph");
  const std::lock_guard lock(state->mutex);
  if (const CUresult result = check_kernels(state->works); result != CUDA_SUCCESS) return result;
  if (is_capturing(stream_state)) {
    ChildWork child{std::make_shared<const GraphContents>(
        GraphContents{*state->nodes, state->works, *state->user_objects})};
    return capture_work(stream_state, std::move(child));
  }
  // The launch copies the work, so later changes to the executable graph do not affect it.
  Operation operation{.run = [nodes = state->nodes, works = state->works,
                              kept = state->user_objects] { return run_nodes(*nodes, works); },
                      .calls_user = true};
  if (state->last.stream) operation.waits.push_back(state->last);
  state->last = scheduler().submit(stream_state, std::move(operation));
  update_counters([](Counters& counters) { ++counters.graph_launches; });
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
