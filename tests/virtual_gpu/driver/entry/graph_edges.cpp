// Entry points: edges between the nodes of CUDA Graphs, and their data.
#include <algorithm>
#include <cstring>

#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/graph.h"
#include "tests/virtual_gpu/driver/launch.h"

namespace sinter::virtual_gpu::driver {

namespace {

constexpr CUgraphEdgeData kProgrammatic = {.from_port = kGraphKernelNodePortProgrammatic,
                                           .to_port = 0,
                                           .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                           .reserved = {}};

const KernelLaunch* kernel_of_node(const NodeObject& node) {
  return std::get_if<KernelLaunch>(node.operation.get());
}

/// True for a programmatic edge. Refuses data that the documentation of CUgraphEdgeData and
/// CUgraphDependencyType does not permit for the nodes.
bool check_data(const NodeObject& from, const NodeObject& to, const CUgraphEdgeData& data) {
  require(data.to_port == 0, "no type of node has incoming ports");
  require(std::ranges::count(data.reserved, 0) == std::ssize(data.reserved),
          "a reserved byte is not 0");
  require(data.type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, "the type of an edge is unknown");
  require(data.from_port <= kGraphKernelNodePortLaunchOrder, "the port of an edge is unknown");
  require(data.from_port == kGraphKernelNodePortDefault || kernel_of_node(from),
          "only kernel nodes have ports");
  const bool is_programmatic = data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  require(!is_programmatic || (kernel_of_node(from) && kernel_of_node(to)),
          "programmatic edges may only be used between kernel nodes");
  require(!is_programmatic || data.from_port != kGraphKernelNodePortDefault,
          "a programmatic edge needs another port than the default one");
  require(is_programmatic || data.from_port != kGraphKernelNodePortProgrammatic,
          "the programmatic port must be used with programmatic edges");
  if (data.from_port == kGraphKernelNodePortLaunchOrder)
    throw Refusal(CUDA_ERROR_NOT_SUPPORTED, "the launch order port is not modelled");
  if (is_programmatic) check_programmatic(*kernel_of_node(to));
  return is_programmatic;
}

/// Adds all edges, or none if one is refused.
CUresult add_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                   const CUgraphEdgeData* data, std::size_t count) {
  return enter("cuGraphAddDependencies", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<GraphObject> owner = find_graph(call, graph);
    require(count == 0 || (from && to), "from or to is null");
    std::vector<std::pair<std::shared_ptr<NodeObject>, Edge>> added;
    for (std::size_t i = 0; i < count; ++i) {
      const std::shared_ptr<NodeObject> first = find_node(call, from[i]);
      const std::shared_ptr<NodeObject> second = find_node(call, to[i]);
      require(first->graph == owner.get() && second->graph == owner.get(),
              "a node of an edge is in another graph");
      require(first != second, "an edge joins a node to itself");
      const auto is_same = [&](const auto& one) {
        return one.first == second && one.second.from == first.get();
      };
      require(std::ranges::find(second->edges, first.get(), &Edge::from) == second->edges.end() &&
                  std::ranges::none_of(added, is_same),
              "the edge exists already");
      const CUgraphEdgeData one = data ? data[i] : CUgraphEdgeData{};
      added.push_back({second, {first.get(), check_data(*first, *second, one)}});
    }
    for (auto& [node, edge] : added) node->edges.push_back(edge);
  });
}

/// `data` may be null if all edges have default data.
CUresult list_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                    std::size_t* count) {
  return enter("cuGraphGetEdges", Needs::possible_context, [&](Call& call) {
    const std::shared_ptr<GraphObject> owner = find_graph(call, graph);
    require(count, "count is null");
    require(!from == !to && (!data || from),
            "only one of from and to is null, or data alone is not");
    std::size_t number = 0;
    for (const std::shared_ptr<NodeObject>& node : owner->nodes)
      for (const Edge& edge : node->edges) {
        if (from && number < *count) {
          if (!data && edge.is_programmatic)
            throw Refusal(kErrorLossyQuery, "an edge has data, and data is null");
          from[number] = as<CUgraphNode>(edge.from->handle);
          to[number] = as<CUgraphNode>(node->handle);
          if (data) data[number] = edge.is_programmatic ? kProgrammatic : CUgraphEdgeData{};
        }
        ++number;
      }
    for (std::size_t i = number; from && i < *count; ++i) from[i] = to[i] = nullptr;
    *count = from ? std::min(*count, number) : number;
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, std::size_t count) {
  return add_edges(graph, from, to, data, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                std::size_t count) {
  return add_edges(graph, from, to, /*data=*/nullptr, count);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* data, std::size_t* count) {
  return list_edges(graph, from, to, data, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  return list_edges(graph, from, to, /*data=*/nullptr, count);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
