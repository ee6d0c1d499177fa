// The entry point for edges between nodes of a CUDA Graph.
#include "runtime/driver/host/graph.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::host {
namespace {

bool is_kernel(const GraphState& graph, std::size_t node) {
  return std::holds_alternative<KernelWork>(*graph.works[node]);
}

/// Fails with a text if the data, or the edge with it, is invalid: CUgraphEdgeData.
CUresult check_data(const GraphState& graph, std::size_t from, std::size_t to,
                    const CUgraphEdgeData& data) {
  const auto refuse = [](const char* why) { return fail(CUDA_ERROR_INVALID_VALUE, why); };
  if (data.to_port != 0 ||
      std::ranges::any_of(data.reserved, [](unsigned char byte) { return byte != 0; }))
    return refuse("the target port and the reserved bytes of an edge must be 0");
  if (data.type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
      data.from_port > kGraphKernelNodePortLaunchOrder)
    return refuse("the type or the port of an edge is not known");
  if (data.from_port != kGraphKernelNodePortDefault && !is_kernel(graph, from))
    return refuse("only kernel nodes have ports");
  const bool is_programmatic = data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  if (is_programmatic && !(is_kernel(graph, from) && is_kernel(graph, to)))
    return refuse("programmatic edges may only be used between kernel nodes");
  if (is_programmatic && data.from_port == kGraphKernelNodePortDefault)
    return refuse("programmatic edges need another port than the default one");
  if (!is_programmatic && data.from_port == kGraphKernelNodePortProgrammatic)
    return refuse("the programmatic port must be used with programmatic edges");
  if (data.from_port == kGraphKernelNodePortLaunchOrder)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "edges from the start of a kernel");
  return CUDA_SUCCESS;
}

}  // namespace

bool is_acyclic(const Nodes& nodes) {
  std::vector<std::size_t> waits, ready;
  for (const Node& node : nodes) {
    if (node.waits == 0) ready.push_back(waits.size());
    waits.push_back(node.waits);
  }
  std::size_t reached = 0;
  for (; !ready.empty(); ++reached) {
    const std::size_t node = ready.back();
    ready.pop_back();
    for (const Edge& edge : nodes[node].users)
      if (--waits[edge.to] == 0) ready.push_back(edge.to);
  }
  return reached == nodes.size();
}

namespace entry {

// Adds all edges or none.
CUresult cuGraphAddDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData* data, std::size_t count) {
  const auto graph = find_graph(handle);
  if (!graph) return invalid_handle("graph");
  if (const CUresult result = check_changeable(*graph); result != CUDA_SUCCESS) return result;
  if (count == 0) return CUDA_SUCCESS;
  if (!from || !to) return fail(CUDA_ERROR_INVALID_VALUE, "the nodes of the edges are null");
  const std::lock_guard lock(graph->mutex);
  std::vector<std::size_t> firsts, seconds;
  if (!find_nodes(*graph, {from, count}, firsts) || !find_nodes(*graph, {to, count}, seconds))
    return fail(CUDA_ERROR_INVALID_VALUE, "an edge has a node that is not in this graph");
  Nodes nodes = graph->nodes;
  for (std::size_t i = 0; i < count; ++i) {
    const CUgraphEdgeData edge = data ? data[i] : CUgraphEdgeData{};
    if (firsts[i] == seconds[i])
      return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("edge {} joins a node to itself", i));
    if (const CUresult result = check_data(*graph, firsts[i], seconds[i], edge);
        result != CUDA_SUCCESS)
      return result;
    std::vector<Edge>& users = nodes[firsts[i]].users;
    if (std::ranges::find(users, seconds[i], &Edge::to) != users.end())
      return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("edge {} exists already", i));
    users.push_back(
        {.to = seconds[i], .is_programmatic = edge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC});
    ++nodes[seconds[i]].waits;
  }
  graph->nodes = std::move(nodes);
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
