// A CUDA Graph of a launch set, from explicit nodes with their true dependencies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device_state.h"
#include "runtime/launch_set.h"

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
  struct Touched {
    std::vector<int> all;
    std::vector<int> written;
  };

  const Program& program_;
  std::vector<Touched> touched_;  ///< by kernel
};

class ReplayGraph {
 public:
  explicit ReplayGraph(const DeviceState& device) : device_(device) {}
  ~ReplayGraph() { release(); }
  ReplayGraph(const ReplayGraph&) = delete;
  ReplayGraph& operator=(const ReplayGraph&) = delete;

  /// Notes that grids or the layout may have changed: the next bring_up_to_date looks closer.
  void sizes_changed() { may_differ_ = true; }
  /// Builds the graph at the first call, and again where sizes change what depends on what or which
  /// kernels run at all; else patches the nodes of launches that changed.
  void bring_up_to_date(LaunchSet& launches);
  void launch(CUstream stream);

  std::int64_t builds() const { return builds_; }
  std::int64_t patched_nodes() const { return patched_nodes_; }
  std::int64_t launches() const { return launched_; }

 private:
  void build(LaunchSet& launches);
  void release();

  const DeviceState& device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
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
