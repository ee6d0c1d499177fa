// Stream capture of the host device: what is put on a stream becomes nodes of a graph.
#pragma once

#include "runtime/driver/host/graph.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sinter::host {

/// One capture, from its beginning to its end.
struct CaptureState {
  std::shared_ptr<GraphState> graph = std::make_shared<GraphState>();  // null: it has ended
  CUgraph handle = nullptr;
  unsigned long long id = 0;
  CUstreamCaptureMode mode{};
  std::thread::id thread;                           // where it began
  std::weak_ptr<StreamState> origin;                // where it began, and must end
  std::vector<std::weak_ptr<StreamState>> streams;  // all that record into it
  std::string why_invalid;                          // empty: it is not
};

/// Nodes of a capture; none: of no capture.
struct CapturedPoint {
  std::shared_ptr<CaptureState> capture;
  std::vector<std::size_t> nodes;
};

bool is_capturing(const std::shared_ptr<StreamState>& stream);
/// Makes `work` the next node of what the stream records.
CUresult capture_work(const std::shared_ptr<StreamState>& stream, Work work);
/// Ends in an error, and makes an error of the capture, where `stream` records one: `call` must be
/// answered now, but what is recorded has not run. Success else.
CUresult refuse_in_capture(const std::shared_ptr<StreamState>& stream, const char* call);
/// The same where what `point` marks is asked for: CUDA_ERROR_CAPTURED_EVENT.
CUresult refuse_captured(const CapturedPoint& point, const char* call);
/// The same of all streams of a device.
CUresult refuse_in_captures_of(int device, const char* call);
/// The same of captures that forbid this thread what is no work of a stream, as memory is: its own,
/// and global ones of others, as the modes of thread and capture say.
CUresult refuse_unsafe(const char* call);

/// The end of what the stream has recorded so far.
CapturedPoint captured_end(const std::shared_ptr<StreamState>& stream);
/// What `stream` records next, from now on in the capture of `point`, comes behind that.
CUresult follow_captured(const std::shared_ptr<StreamState>& stream, const CapturedPoint& point);

}  // namespace sinter::host
