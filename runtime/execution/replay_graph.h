// A CUDA Graph of a launch set, from explicit nodes with their true dependencies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/execution/launch_set.h"

namespace sinter {

/// Kernel `before` must be done when kernel `after` starts.
struct LaunchEdge {
  int before = 0;
  int after = 0;
  friend bool operator==(const LaunchEdge&, const LaunchEdge&) = default;
};

/// Which kernels of a variant wait for which: the program's dependencies, and those that come of
/// buffers that share arena memory; none of them twice, by way of another kernel too.
class LaunchOrder {
 public:
  /// `variant` must outlive it.
  explicit LaunchOrder(const Variant& variant);

  /// By `after`.
  std::vector<LaunchEdge> edges(const ScratchLayout& layout,
                                std::span<const std::int64_t> symbols) const;

 private:
  /// The temporaries that a kernel reads or writes, and those that it writes.
  struct Footprint {
    std::vector<int> all;
    std::vector<int> written;
  };

  const Program& program_;
  std::vector<Footprint> touched_;  ///< by kernel
};

/// One CUDA Graph, or several with calls between them that no graph can hold.
class ReplayGraph {
 public:
  explicit ReplayGraph(const DeviceState& device) : device_(device) {}
  ~ReplayGraph();
  ReplayGraph(const ReplayGraph&) = delete;
  ReplayGraph& operator=(const ReplayGraph&) = delete;

  /// Notes that grids or the layout may have changed: the next bring_up_to_date looks closer.
  void sizes_changed() { may_differ_ = true; }
  /// Builds the graph at the first call, and again where sizes change what depends on what or which
  /// kernels run at all; else patches the nodes of launches that changed.
  void bring_up_to_date(LaunchSet& launches, HostWorks& works);
  void launch(LaunchSet& launches, CUstream stream, HostWorks& works);
  /// All launches as one graph that is not launched by itself but becomes a node of another one;
  /// null if there is none. Throws UserError where a call cannot be in a graph.
  CUgraph draw(LaunchSet& launches, HostWorks& works);

  std::int64_t builds() const { return builds_; }
  std::int64_t patched_nodes() const { return patched_nodes_; }
  std::int64_t launches() const { return launched_; }

 private:
  /// Neighbouring launches that are one graph. Behind it comes a call by itself, if any.
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;  ///< none where there is no launch
  };
  /// Notes which launches run and what they wait for; false if that is as it was.
  bool order(LaunchSet& launches);
  void build(LaunchSet& launches, HostWorks& works);
  /// False if a call turned out to be one that no graph can hold.
  bool try_build(LaunchSet& launches, HostWorks& works);
  bool fill(Part& part, LaunchSet& launches, HostWorks& works);
  void instantiate(Part& part);
  void release();

  /// A graph that goes away with it.
  struct Recording {
    const Driver& driver;
    CUgraph graph = nullptr;
    ~Recording();
  };
  /// Records what the call of launch `number` puts on its stream; false if that cannot be done,
  /// which its binding is then told.
  bool record(LaunchSet& launches, std::size_t number, HostWorks& works, Recording& result);
  /// Lets the graph of `part` make a call with its new arguments; false if it must be built again.
  bool patch_call(const Part& part, LaunchSet& launches, std::size_t number, HostWorks& works);

  const DeviceState& device_;
  std::vector<Part> parts_;
  bool is_built_ = false;
  CUstream recorder_ = nullptr;  ///< made with the first call
  /// Per launch: what the CPU does for each recording of its call, the latest last. Those before
  /// stay until a later one has run.
  std::vector<std::vector<HostWorks::Pieces>> pieces_;
  std::unique_ptr<LaunchOrder> order_;  ///< made with the first graph
  std::vector<CUgraphNode> nodes_;      ///< per launch
  std::vector<LaunchEdge> edges_;
  std::vector<bool> empty_;  ///< per launch: its node runs nothing
  bool may_differ_ = true;
  std::int64_t builds_ = 0;
  std::int64_t patched_nodes_ = 0;
  std::int64_t launched_ = 0;
};

}  // namespace sinter
