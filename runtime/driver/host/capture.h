// Stream capture of the host device: work that is put on a stream becomes nodes of a graph.
#pragma once

#include "runtime/driver/host/graph.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sinter::host {

/// One capture, from its begin call to its end call.
struct CaptureState {
  std::shared_ptr<GraphState> graph = std::make_shared<GraphState>();  // null after the end
  CUgraph handle = nullptr;
  unsigned long long id = 0;
  CUstreamCaptureMode mode{};
  std::thread::id thread;                           // that began it
  std::weak_ptr<StreamState> origin;                // on which it began, and must end
  std::vector<std::weak_ptr<StreamState>> streams;  // all streams that record into it
  std::string invalid_reason;                       // empty: it is valid

  CaptureState() = default;
  CaptureState(const CaptureState&) = delete;
  CaptureState& operator=(const CaptureState&) = delete;
  /// Drops the graph if all streams of the capture were destroyed.
  ~CaptureState() {
    if (graph) remove_graph_handle(handle);
  }
};

/// Nodes of a capture. `capture` is null if the stream or event is not part of a capture.
struct CapturedPoint {
  std::shared_ptr<CaptureState> capture;
  std::vector<std::size_t> nodes;
};

bool is_capturing(const std::shared_ptr<StreamState>& stream);
/// Appends `work` to the capture of the stream, as a node behind its latest nodes.
CUresult capture_work(const std::shared_ptr<StreamState>& stream, Work work);
/// Refuses `call` and invalidates the capture if `stream` records into one: `call` needs an answer
/// now, but captured work has not run. Success if the stream records nothing.
CUresult refuse_in_capture(const std::shared_ptr<StreamState>& stream, const char* call);
/// Refuses `call` with CUDA_ERROR_CAPTURED_EVENT and invalidates the capture if `point` is in one.
CUresult refuse_captured(const CapturedPoint& point, const char* call);
/// Refuses `call` and invalidates all captures that streams of the device record into.
CUresult refuse_in_captures_of(int device, const char* call);
/// Refuses `call` if a capture forbids it to this thread, and invalidates that capture. Captures
/// forbid calls that are not stream work, such as allocation: to their own thread, and global
/// captures also to others. The modes of thread and capture decide.
CUresult refuse_unsafe(const char* call);

/// The nodes that the stream has recorded last.
CapturedPoint captured_end(const std::shared_ptr<StreamState>& stream);
/// Adds `stream` to the capture of `point`. Its next node depends on the nodes of `point`.
CUresult follow_captured(const std::shared_ptr<StreamState>& stream, const CapturedPoint& point);

}  // namespace sinter::host
