// CUDA Graphs of the host device: nodes with true dependencies, run in any order that those allow.
#pragma once

#include "runtime/host_driver/state.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

namespace sinter::host {

/// What a node does.
struct KernelWork {
  CUfunction function;
  KernelLaunch launch;
};
struct HostWork {
  CUhostFn function;
  void* user_data;
};
struct ChildGraph;
struct ChildWork {
  std::shared_ptr<const ChildGraph> graph;
};
using Work = std::variant<std::monostate, KernelWork, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
                          HostWork, ChildWork>;

struct GraphState;
struct NodeState {
  GraphState* graph;  // whose node it is; there as long as the node's handle
  std::size_t index;
};

struct Node {
  CUgraphNode handle;
  std::vector<std::size_t> users;  // those that wait for it
  std::size_t waits = 0;           // how many it waits for
};
using Nodes = std::vector<Node>;
using Works = std::vector<std::shared_ptr<const Work>>;  // of the nodes, in their order

/// A whole graph as it was when it became a node.
struct ChildGraph {
  Nodes nodes;
  Works works;
};

struct GraphState {
  std::mutex mutex;
  Nodes nodes;
  Works works;
};

struct ExecState {
  std::mutex mutex;
  std::shared_ptr<const GraphState> graph;  // that it was made from; only compared
  std::shared_ptr<const Nodes> nodes;
  Works works;
  Point last;  // the end of its latest launch: a graph never runs beside itself
};

/// Adds a node that waits for others of the graph.
std::size_t append_node(GraphState& graph, Work work, std::span<const std::size_t> waits_for);
/// The handles of a graph that goes.
void forget_nodes(const GraphState& graph);
/// A handle to the graph.
CUgraph publish(std::shared_ptr<GraphState> graph);

/// Runs the nodes one by one; among those whose dependencies are done, the seed picks.
Failure run_nodes(const Nodes& nodes, const Works& works);

bool has_cycle(const Nodes& nodes);

}  // namespace sinter::host
