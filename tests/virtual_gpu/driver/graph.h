// CUDA Graphs: graphs, their nodes, executable graphs, and user objects.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "tests/virtual_gpu/driver/machine.h"

namespace sinter::virtual_gpu::driver {

struct GraphObject;

/// An object of the user that graphs keep alive.
struct UserObject {
  static constexpr HandleKind kKind = HandleKind::user_object;
  void* handle = nullptr;
  HostCall destroy;
  unsigned long long owned = 0;  ///< references of the caller
  unsigned long long total = 0;  ///< with those of graphs
  /// The ends of launches that used it, the last one of each chain.
  std::map<std::uint32_t, OrderRecord> ends = {};
};

/// Drops references; the last one makes a thread of the driver call the destructor. The call tells
/// the host that all launches of graphs that had a reference have ended.
void release_references(Machine& machine, UserObject& object, unsigned long long count);

/// References of a graph, which its copies have too.
class UserReference {
 public:
  UserReference(Machine& machine, std::shared_ptr<UserObject> object, unsigned long long count)
      : machine_(&machine), object_(std::move(object)), count_(count) {
    object_->total += count_;
  }
  UserReference(const UserReference& other)
      : UserReference(*other.machine_, other.object_, other.count_) {}
  UserReference& operator=(const UserReference&) = delete;
  ~UserReference() { release_references(*machine_, *object_, count_); }
  UserObject& object() const { return *object_; }

 private:
  Machine* machine_;
  std::shared_ptr<UserObject> object_;
  unsigned long long count_;
};

struct Edge {
  NodeObject* from = nullptr;
  /// The node may start when the kernel `from` allows it; programmatic dependent launch.
  bool is_programmatic = false;
};

struct NodeObject {
  static constexpr HandleKind kKind = HandleKind::node;
  void* handle = nullptr;  ///< null in a copy
  GraphObject* graph = nullptr;
  std::shared_ptr<const Operation> operation;
  std::shared_ptr<GraphObject> child = nullptr;  ///< a copy; set: the node executes it
  std::vector<Edge> edges = {};
  const void* origin = nullptr;  ///< in a copy: the handle of the node that was copied
  std::size_t index = 0;         ///< in the graph
};

struct GraphObject {
  static constexpr HandleKind kKind = HandleKind::graph;
  void* handle = nullptr;
  std::vector<std::shared_ptr<NodeObject>> nodes = {};  ///< in the order of their insertion
  std::vector<UserReference> references = {};
  bool is_captured_into = false;  ///< a capture has not ended
  bool is_embedded = false;       ///< a node owns it, and the program has its handle
};

/// The nodes of a graph and its child graphs, in an order that edges permit.
struct FlatGraph {
  struct Dependency {
    int node = 0;
    bool is_programmatic = false;
  };
  struct Node {
    std::shared_ptr<const Operation> operation;
    std::vector<Dependency> dependencies;
  };
  std::vector<Node> nodes;
  std::shared_ptr<const Ancestors> ancestors;
};

struct ExecObject {
  static constexpr HandleKind kKind = HandleKind::exec;
  void* handle = nullptr;
  ContextObject* context = nullptr;
  std::shared_ptr<GraphObject> graph;  ///< a copy of the graph at its instantiation
  std::weak_ptr<GraphObject> origin;
  std::shared_ptr<const FlatGraph> flat = nullptr;  ///< null: out of date
  TaskPointer last_launch = nullptr;
};

/// Adds a node; gives it a handle if the graph has one, or is being captured into.
NodeObject& add_node(Machine& machine, GraphObject& graph, std::vector<Edge> edges,
                     std::shared_ptr<const Operation> operation,
                     std::shared_ptr<GraphObject> child = nullptr);
std::shared_ptr<GraphObject> copy_graph(const GraphObject& graph);
/// A launch of the graph has ended: notes that in the user objects of the graph and its children.
void note_end(const GraphObject& graph, const OrderRecord& end);
/// Gives handles to the graph of a node and to its nodes, unless they have some.
void add_embedded_graph(Machine& machine, const std::shared_ptr<GraphObject>& graph);
/// Removes the handles of the graph, its nodes, and the graphs in them.
void forget_graph(Machine& machine, GraphObject& graph);

/// True if the graph or a child graph has stream-ordered allocations.
bool has_pool_work(const GraphObject& graph);
/// The reason why a kernel of the graph cannot run, since its module was unloaded; or empty.
std::string unloaded_kernel(const GraphObject& graph);

/// The nodes of the graph in an order that edges permit, older ones first. Fewer nodes if some
/// depend on themselves.
std::vector<const NodeObject*> execution_order(const GraphObject& graph);

/// `starts_early`: Configuration::starts_early. Edges between kernels are then programmatic if the
/// second kernel waits itself.
std::shared_ptr<const FlatGraph> flatten(const GraphObject& graph, bool starts_early);

/// Gives the nodes of `graph` the work of those of `update`. Throws Refusal if the topology or
/// parts that cannot change differ; then nothing has changed. Restrictions: cuGraphExecUpdate.
/// Kernels keep their cluster sizes, as with driver 580 (bench/results/h200/2026-11-27).
void update_graph(GraphObject& graph, const GraphObject& update);

}  // namespace sinter::virtual_gpu::driver
