// CUDA Graphs of the host device: nodes and dependencies, run in an order that these allow.
#pragma once

#include "runtime/driver/host/state.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

namespace sinter::host {

/// The work of a kernel node.
struct KernelWork {
  CUfunction function;
  KernelLaunch launch;
};
struct HostWork {
  CUhostFn function;
  void* user_data;
};
struct GraphContents;
struct ChildWork {
  std::shared_ptr<const GraphContents> graph;  // as it was when it became a node
};
using Work = std::variant<std::monostate, KernelWork, CopyWork, FillWork, HostWork, ChildWork>;

struct GraphState;
struct NodeState {
  GraphState* graph;  // owns the node, and lives as long as the node's handle
  std::size_t index;
};

/// An edge, as its first node has it.
struct Edge {
  std::size_t to = 0;            // the node that waits
  bool is_programmatic = false;  // both are kernels, and the second one waits itself
  friend bool operator==(const Edge&, const Edge&) = default;
};

struct Node {
  CUgraphNode handle;
  std::vector<Edge> users;  // nodes that wait for it
  std::size_t waits = 0;    // number of nodes that it waits for
};
using Nodes = std::vector<Node>;
using Works = std::vector<std::shared_ptr<const Work>>;  // by node

/// An object that graphs keep alive. Dropping the last reference calls the user's destructor.
struct UserObject {
  void* pointer;
  CUhostFn destroy = nullptr;  // null until the object has a handle

  explicit UserObject(void* pointer) : pointer(pointer) {}
  ~UserObject() {
    if (destroy) run_host_function(destroy, pointer);
  }
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
};
using UserObjects = std::vector<std::shared_ptr<const UserObject>>;  // one element per reference

struct GraphContents {
  Nodes nodes;
  Works works;
  UserObjects user_objects;
};

struct GraphState : GraphContents {
  std::mutex mutex;
  bool is_being_captured = false;  // it cannot be destroyed or instantiated until the capture ends
  bool is_embedded = false;        // in a child graph node, which owns it: it cannot change
  std::map<std::size_t, CUgraph> embedded;  // by child graph node: a graph with a handle
};

struct ExecState {
  std::mutex mutex;
  std::shared_ptr<const GraphState> graph;  // the source; used only for comparison
  std::shared_ptr<const Nodes> nodes;
  Works works;
  std::shared_ptr<const UserObjects> user_objects;
  Point last;  // the end of its latest launch: launches of one graph never overlap
};

/// Adds a node that depends on the nodes `waits_for`; returns its index. The edges are programmatic
/// if `starts_early`. The caller holds the graph's mutex.
std::size_t append_node(GraphState& graph, Work work, std::span<const std::size_t> waits_for,
                        bool starts_early = false);
/// Creates a handle to the graph.
CUgraph add_graph_handle(std::shared_ptr<GraphState> graph);
/// Creates handles to the graph of a child graph node, and to its nodes.
CUgraph add_embedded_graph(const GraphContents& contents);
/// Removes the handles of the graph, of its nodes, and of the graphs in them.
void remove_graph_handle(CUgraph graph);
/// Null if the handle is invalid.
std::shared_ptr<GraphState> find_graph(CUgraph graph);
std::shared_ptr<NodeState> find_node(CUgraphNode node);
/// Fails with a text if the graph belongs to a child graph node.
CUresult check_changeable(const GraphState& graph);
/// Fails with a text that names `what`, whose handle is invalid.
CUresult invalid_handle(const char* what);
/// Appends the indices of the nodes to `indices`; false if one is not a node of `graph`.
bool find_nodes(const GraphState& graph, std::span<const CUgraphNode> handles,
                std::vector<std::size_t>& indices);

/// True if no node depends on itself.
bool is_acyclic(const Nodes& nodes);

/// Runs the nodes one by one. The seed picks among the nodes whose dependencies are done. It also
/// picks kernels that count accesses and wait themselves for their last dependencies. These start
/// first, and the dependencies run when they wait.
Failure run_nodes(const Nodes& nodes, const Works& works);

}  // namespace sinter::host
