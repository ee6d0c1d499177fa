// Times a kernel: a CUDA Graph of launches over cold data, between two events.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/device/device_state.h"
#include "runtime/tuning/scratch_buffers.h"

namespace sinter {

struct TimedKernel {
  const Source& source;
  CUfunction function = nullptr;
  std::int64_t grid = 0;      ///< blocks
  bool starts_early = false;  ///< CompiledFunction::starts_early
};

/// A candidate of `request` at its sizes.
TimedKernel timed_kernel(const DeviceState& device, const TuneRequest& request,
                         std::size_t candidate);

/// Launches the kernel once on `stream`, with the arguments of the first set.
void launch_once(DeviceState& device, const TimedKernel& kernel, const ScratchBuffers& buffers,
                 CUstream stream);

/// A CUDA Graph of consecutive launches that uses the sets in turn.
class RepeatedLaunches {
 public:
  ~RepeatedLaunches();
  RepeatedLaunches(const RepeatedLaunches&) = delete;
  RepeatedLaunches& operator=(const RepeatedLaunches&) = delete;

  /// Each launch starts when the one before it has ended.
  static std::unique_ptr<RepeatedLaunches> in_turn(DeviceState& device, const TimedKernel& kernel,
                                                   const ScratchBuffers& buffers, int launches);
  /// Each launch starts early, as behind another kernel in a run or in a replay. Null if the driver
  /// does not support that in graphs.
  static std::unique_ptr<RepeatedLaunches> early(DeviceState& device, const TimedKernel& kernel,
                                                 const ScratchBuffers& buffers, int launches);

  CUgraphExec exec() const { return exec_; }

 private:
  explicit RepeatedLaunches(DeviceState& device) : device_(device) {}

  enum class Edges { none, full };
  std::vector<CUgraphNode> add_nodes(const TimedKernel& kernel, const ScratchBuffers& buffers,
                                     int launches, Edges edges);
  void instantiate(const TimedKernel& kernel);

  DeviceState& device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

class KernelTimer {
 public:
  /// `launches` is the number of launches in each graph.
  KernelTimer(DeviceState& device, CUstream stream, int launches);

  /// The mean microseconds of one launch. L2 is flushed before the first one.
  double measure(const RepeatedLaunches& repeated);

 private:
  DeviceState& device_;
  CUstream stream_;
  int launches_;
  std::unique_ptr<DeviceMemory> flush_;  ///< writing it flushes L2; null on the host device
  std::unique_ptr<EventState> start_;
  std::unique_ptr<EventState> end_;
};

}  // namespace sinter
