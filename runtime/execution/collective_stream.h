// CollectiveStream: the stream on which a context runs collectives beside its kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/execution/launch_order.h"
#include "runtime/execution/launch_set.h"

namespace sinter {

/// Orders the collectives of a launch set on a stream of their own. A collective starts when the
/// launches before it have ended. Of the later launches, only those that depend on it wait for it.
class CollectiveStream {
 public:
  /// `launches` must outlive it.
  CollectiveStream(const DeviceState& device, const LaunchSet& launches)
      : device_(device), launches_(launches) {}
  ~CollectiveStream();
  CollectiveStream(const CollectiveStream&) = delete;
  CollectiveStream& operator=(const CollectiveStream&) = delete;

  /// Notes that the layout may have changed.
  void sizes_changed() { may_differ_ = true; }
  /// Prepares a run: creates the stream and finds the dependencies if they may differ.
  void begin_run();
  /// Makes `stream` wait for the collectives that launch `number` depends on.
  void wait_before(std::size_t number, CUstream stream);
  /// The stream of a collective, after all work on `stream` so far.
  CUstream enter(CUstream stream);
  /// Marks the end of collective `number`.
  void mark_end(std::size_t number);
  /// Makes `stream` wait for all collectives of the run.
  void end_run(CUstream stream);
  /// The same after a launch has failed. Logs errors.
  void end_failed_run(CUstream stream) noexcept;

 private:
  void find_dependencies();
  CUevent new_event();
  void record(CUevent event, CUstream stream);
  void wait(CUstream stream, CUevent event);

  const DeviceState& device_;
  const LaunchSet& launches_;
  bool may_differ_ = true;
  CUstream handle_ = nullptr;
  CUevent start_ = nullptr;                     ///< orders the two streams
  std::vector<CUevent> ends_;                   ///< per launch; null unless it is a collective
  std::vector<std::vector<std::size_t>> needs_;  ///< per launch: collectives that it waits for
  bool is_used_ = false;                        ///< in this run
};

}  // namespace sinter
