// Support for streams that the caller captures into a CUDA Graph.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "runtime/device/device_state.h"
#include "runtime/driver/deferred_release.h"

namespace sinter {

/// True if the stream is being captured. Throws UserError, starting with `what`, if an error has
/// made the capture invalid.
inline bool is_captured(std::string_view what, const StreamState& stream);
/// Throws UserError, starting with `what`, if the stream is being captured. Captured work does not
/// run until the graph is launched, and waiting for it would make the capture invalid.
void check_can_wait(std::string_view what, const StreamState& stream);

[[noreturn]] void throw_invalid_capture(std::string_view what);

/// The graph that a stream is captured into, for explicit changes, and the stream's last captured
/// nodes. Several streams, used by different threads, may be captured into one graph. Drivers do
/// not synchronize changes of a graph, so this holds a global lock.
class CapturedGraph {
 public:
  /// Throws UserError, starting with `what`, if the stream is not being captured any more.
  CapturedGraph(std::string_view what, const StreamState& stream);
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  /// Keeps `kept` until the graph, and the graphs that were instantiated from it, are gone.
  void keep(std::unique_ptr<DeferredRelease> kept);
  /// Appends `nodes` as one child graph node after the stream's last captured nodes.
  void append(CUgraph nodes);

 private:
  const std::lock_guard<std::mutex> lock_;
  const std::string_view what_;
  const StreamState& stream_;
  CUgraph graph_ = nullptr;
  const CUgraphNode* dependencies_ = nullptr;
  std::size_t dependency_count_ = 0;
};

inline bool is_captured(std::string_view what, const StreamState& stream) {
  const Driver& driver = stream.device.driver;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver, driver.cuStreamIsCapturing(stream.handle, &status), "cuStreamIsCapturing", what);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) [[likely]]
    return false;
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) throw_invalid_capture(what);
  return true;
}

}  // namespace sinter
