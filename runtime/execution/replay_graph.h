// Builds and replays a CUDA Graph of a launch set, from explicit nodes with their dependencies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/execution/launch_order.h"
#include "runtime/execution/launch_set.h"

namespace sinter {

/// One CUDA Graph, or several, separated by opaque calls that no graph can hold.
class ReplayGraph {
 public:
  /// `launches` and `host_functions` must outlive the graph.
  ReplayGraph(const DeviceState& device, LaunchSet& launches, HostFunctions& host_functions)
      : device_(device),
        launches_(launches),
        host_functions_(host_functions),
        has_early_edges_(device.driver.cuGraphAddDependencies != nullptr) {}
  ~ReplayGraph();
  ReplayGraph(const ReplayGraph&) = delete;
  ReplayGraph& operator=(const ReplayGraph&) = delete;

  /// Notes that grids or the layout may have changed; the next update compares them.
  void sizes_changed() { may_differ_ = true; }
  /// Builds the graph at the first call, and again if new sizes change its edges or which kernels
  /// run. Otherwise patches the nodes of changed launches.
  void update();
  void launch(CUstream stream);
  /// All launches as one graph, to be added to another graph as a child node; null if there are no
  /// launches. Throws UserError if a call cannot be part of a graph.
  CUgraph build_child_graph();

  std::int64_t builds() const { return builds_; }
  std::int64_t patched_nodes() const { return patched_nodes_; }
  std::int64_t launches() const { return launched_; }

 private:
  /// Consecutive launches in one graph. The launch at `end`, if any, is a call outside of graphs.
  struct Segment {
    std::size_t begin = 0;
    std::size_t end = 0;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;  ///< null if the segment has no launches
  };
  /// Updates `edges_` and `empty_`. True if they changed.
  bool update_edges();
  void build();
  /// False if a call turned out not to be capturable, or early edges not to be supported. The
  /// caller then tries again.
  bool try_build();
  bool add_nodes(Segment& segment);
  /// True if the node of `edge.after` may begin when all blocks of `edge.before` have ended. The
  /// kernel then waits itself until the memory operations of `edge.before` are visible.
  bool is_early(const LaunchEdge& edge) const;
  /// Adds the edges as programmatic edges between kernel nodes. False if the driver does not
  /// support them; the caller then tries again without.
  bool add_early_edges(const Segment& segment, std::span<const LaunchEdge> edges);
  /// False if the driver may not support early edges; the caller then builds the graph without.
  bool instantiate(Segment& segment);
  void release();

  /// Owns a captured graph.
  struct Recording {
    const Driver& driver;
    CUgraph graph = nullptr;
    ~Recording();
  };
  /// Captures the work that the call of launch `number` puts on its stream. False if the call
  /// cannot be captured; its binding then knows the reason.
  bool record(std::size_t number, Recording& result);
  /// Updates the call's node in the graph of `segment`. False if the graph must be built again.
  bool patch_call(const Segment& segment, std::size_t number);

  const DeviceState& device_;
  LaunchSet& launches_;
  HostFunctions& host_functions_;
  std::vector<Segment> segments_;
  bool is_built_ = false;
  CUstream recorder_ = nullptr;  ///< captures calls; created for the first of them
  /// Per launch: the host functions of each recording of its call, the latest last. Earlier ones
  /// are kept until a later one has run.
  std::vector<std::vector<HostFunctions::List>> recordings_;
  std::unique_ptr<LaunchOrder> launch_order_;  ///< created for the first graph
  std::vector<CUgraphNode> nodes_;             ///< per launch
  std::vector<LaunchEdge> edges_;
  bool has_early_edges_;     ///< the driver has programmatic edges: CUDA 12.3 and later
  std::vector<bool> empty_;  ///< per launch: it has no blocks, so its node is empty
  bool may_differ_ = true;
  std::int64_t builds_ = 0;
  std::int64_t patched_nodes_ = 0;
  std::int64_t launched_ = 0;
};

}  // namespace sinter
