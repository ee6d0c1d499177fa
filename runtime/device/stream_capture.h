// Streams that the caller captures.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "runtime/device/device_state.h"
#include "runtime/driver/deferred_release.h"

namespace sinter {

/// Whether what is put on the stream becomes part of a CUDA Graph of the caller's. Throws UserError
/// where an error has made the capture invalid, starting with `what`.
inline bool is_captured(std::string_view what, const StreamState& stream);
/// Throws UserError, starting with `what`, if the stream is being captured: what is on it does not
/// run before the graph is launched, and waiting for it would make the capture invalid.
void check_can_wait(std::string_view what, const StreamState& stream);

[[noreturn]] void throw_invalid_capture(std::string_view what);

/// The graph that a stream captures, for changes by hand, and what the stream has captured last.
/// Several streams may capture one graph, each used by a thread of its own, and drivers leave it to
/// the callers to order changes of a graph: one thread at a time has one of these.
class CapturedGraph {
 public:
  /// Throws UserError, starting with `what`, where the stream is not being captured any more.
  CapturedGraph(std::string_view what, const StreamState& stream);
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  /// Gives `kept` away when the graph, and what is made from it, cannot be launched any more.
  void keep(std::unique_ptr<DeferredRelease> kept);
  /// Makes what `nodes` consists of the next node.
  void append(CUgraph nodes);

 private:
  const std::lock_guard<std::mutex> lock_;
  const std::string_view what_;
  const StreamState& stream_;
  CUgraph graph_ = nullptr;
  const CUgraphNode* before_ = nullptr;
  std::size_t count_ = 0;
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
