// CUDA Graphs of the host device: nodes with true dependencies, run in any order that those allow.
#pragma once

#include "runtime/driver/host/state.h"

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

/// What a graph keeps until it goes; its destructor is the user's, and runs with the last
/// reference.
struct UserObject {
  void* pointer;
  CUhostFn destroy;

  UserObject(void* pointer, CUhostFn destroy) : pointer(pointer), destroy(destroy) {}
  ~UserObject() { run_host_function(destroy, pointer); }
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
};
using UserObjects = std::vector<std::shared_ptr<const UserObject>>;  // one for each reference

/// A whole graph as it was when it became a node.
struct ChildGraph {
  Nodes nodes;
  Works works;
  UserObjects user_objects;
};

struct GraphState {
  std::mutex mutex;
  Nodes nodes;
  Works works;
  UserObjects user_objects;
  bool is_captured_into = false;  // until the capture ends it is neither destroyed nor launched
};

struct ExecState {
  std::mutex mutex;
  std::shared_ptr<const GraphState> graph;  // that it was made from; only compared
  std::shared_ptr<const Nodes> nodes;
  Works works;
  std::shared_ptr<const UserObjects> user_objects;
  Point last;  // the end of its latest launch: a graph never runs beside itself
};

/// Adds a node that waits for others of the graph.
std::size_t append_node(GraphState& graph, Work work, std::span<const std::size_t> waits_for);
/// The handles of a graph that goes.
void forget_nodes(const GraphState& graph);
/// A handle to the graph.
CUgraph publish(std::shared_ptr<GraphState> graph);
/// The handle of a graph that has none any more.
void withdraw(CUgraph graph);
/// Null if the handle is no graph (any more).
std::shared_ptr<GraphState> find_graph(CUgraph graph);
/// The places of nodes of `graph`; false if one is none of its own.
bool find_nodes(const GraphState& graph, std::span<const CUgraphNode> handles,
                std::vector<std::size_t>& places);
void drop_user_objects();

/// Runs the nodes one by one; among those whose dependencies are done, the seed picks.
Failure run_nodes(const Nodes& nodes, const Works& works);

bool has_cycle(const Nodes& nodes);

}  // namespace sinter::host
