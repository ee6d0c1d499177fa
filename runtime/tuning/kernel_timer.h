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

  /// The launches as nodes, in the mode of a replay.
  static std::unique_ptr<RepeatedLaunches> as_nodes(DeviceState& device, const TimedKernel& kernel,
                                                    const ScratchBuffers& buffers, int launches);
  /// The launches in the mode of a run, captured from `stream`. A graph keeps the device busy, so
  /// the time of the host's calls is not measured. Null if the driver cannot capture early starts.
  static std::unique_ptr<RepeatedLaunches> as_stream(DeviceState& device, const TimedKernel& kernel,
                                                     const ScratchBuffers& buffers, int launches,
                                                     CUstream stream);

  CUgraphExec exec() const { return exec_; }

 private:
  explicit RepeatedLaunches(DeviceState& device) : device_(device) {}

  void add_nodes(const TimedKernel& kernel, const ScratchBuffers& buffers, int launches);
  /// Captures the launches. Returns the first error.
  CUresult capture(const TimedKernel& kernel, const ScratchBuffers& buffers, int launches,
                   CUstream stream);
  CUresult instantiate();

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
