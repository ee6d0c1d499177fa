// The entry points that describe CUDA Graphs: nodes, edges, attributes and child graphs.
#include "runtime/driver/host/graph.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include <fmt/format.h>

namespace sinter::host {
namespace {

/// By alternative of Work.
constexpr CUgraphNodeType kTypes[] = {CU_GRAPH_NODE_TYPE_EMPTY,  CU_GRAPH_NODE_TYPE_KERNEL,
                                      CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET,
                                      CU_GRAPH_NODE_TYPE_HOST,   CU_GRAPH_NODE_TYPE_GRAPH};
static_assert(std::size(kTypes) == std::variant_size_v<Work>);

constexpr CUgraphEdgeData kProgrammatic = {.from_port = kGraphKernelNodePortProgrammatic,
                                           .to_port = 0,
                                           .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                           .reserved = {}};

}  // namespace

CUgraph add_embedded_graph(const GraphContents& contents) {
  const auto state = std::make_shared<GraphState>();
  static_cast<GraphContents&>(*state) = contents;
  state->is_embedded = true;
  for (Node& node : state->nodes) node.handle = nullptr;
  const CUgraph handle = add_graph_handle(state);
  auto& nodes = Handles<CUgraphNode, NodeState>::all();
  try {
    for (std::size_t i = 0; i < state->nodes.size(); ++i)
      state->nodes[i].handle = nodes.add(std::make_shared<NodeState>(NodeState{state.get(), i}));
  } catch (...) {  // out of memory: there are no handles
    remove_graph_handle(handle);
    throw;
  }
  return handle;
}

CUresult check_changeable(const GraphState& graph) {
  if (!graph.is_embedded) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_NOT_SUPPORTED, "changes to the graph of a child graph node");
}

CUresult invalid_handle(const char* what) {
  return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("that {} does not exist (any more)", what));
}

namespace entry {

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* list, std::size_t* count) {
  const auto state = find_graph(graph);
  if (!state || !count) return invalid_handle("graph");
  const std::lock_guard lock(state->mutex);
  for (std::size_t i = 0; list && i < *count; ++i)
    list[i] = i < state->nodes.size() ? state->nodes[i].handle : nullptr;
  *count = list ? std::min(*count, state->nodes.size()) : state->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                         std::size_t* count) {
  const auto state = find_graph(graph);
  if (!state || !count) return invalid_handle("graph");
  if (!from != !to || (data && !from))
    return fail(CUDA_ERROR_INVALID_VALUE, "only some of the arrays of an edge are null");
  const std::lock_guard lock(state->mutex);
  std::size_t number = 0;
  for (const Node& node : state->nodes)
    for (const Edge& edge : node.users) {
      if (from && number < *count) {
        if (!data && edge.is_programmatic)
          return fail(CUDA_ERROR_LOSSY_QUERY, "an edge is programmatic, and its data is not read");
        from[number] = node.handle;
        to[number] = state->nodes[edge.to].handle;
        if (data) data[number] = edge.is_programmatic ? kProgrammatic : CUgraphEdgeData{};
      }
      ++number;
    }
  for (std::size_t i = number; from && i < *count; ++i) from[i] = to[i] = nullptr;
  *count = from ? std::min(*count, number) : number;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  const auto state = find_node(node);
  if (!state || !type) return invalid_handle("node");
  const std::lock_guard lock(state->graph->mutex);
  *type = kTypes[state->graph->works[state->index]->index()];
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       CUlaunchAttributeValue* value) {
  const auto state = find_node(node);
  if (!state || !value) return invalid_handle("node");
  const std::lock_guard lock(state->graph->mutex);
  const auto* const kernel = std::get_if<KernelWork>(state->graph->works[state->index].get());
  if (!kernel) return fail(CUDA_ERROR_INVALID_VALUE, "the node is not a kernel");
  const KernelLaunch& launch = kernel->launch;
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
    value->cooperative = launch.is_cooperative ? 1 : 0;
  } else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    // The host device does not tell a cluster of one block from a launch without clusters.
    value->clusterDim = {};
    if (launch.cluster > 1) value->clusterDim = {.x = launch.cluster, .y = 1, .z = 1};
  } else {
    return fail(CUDA_ERROR_INVALID_VALUE, "that attribute of a kernel node is not known");
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  const auto state = find_node(node);
  if (!state || !graph) return invalid_handle("node");
  GraphState& parent = *state->graph;
  const std::lock_guard lock(parent.mutex);
  const auto* const child = std::get_if<ChildWork>(parent.works[state->index].get());
  if (!child) return fail(CUDA_ERROR_INVALID_VALUE, "the node has no child graph");
  CUgraph& embedded = parent.embedded[state->index];
  if (!embedded) embedded = add_embedded_graph(*child->graph);
  *graph = embedded;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
