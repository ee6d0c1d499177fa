// Stream capture: which calls it forbids, and how captured work becomes nodes of a CUDA Graph.
#pragma once

#include <thread>

#include "tests/virtual_gpu/driver/graph.h"

namespace sinter::virtual_gpu::driver {

/// A capture that has begun. Events refer to it after its end, too.
struct CaptureSequence {
  unsigned long long id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  ///< that began it
  StreamObject* origin = nullptr;
  std::shared_ptr<GraphObject> graph;
  bool is_invalidated = false;
  bool has_ended = false;
  std::vector<StreamObject*> streams = {};  ///< that take part; the origin first
};

/// Refuses a potentially unsafe call, if a capture forbids it to a thread of this mode, and
/// invalidates the capture. Rules: cuThreadExchangeStreamCaptureMode.
void check_unsafe(Machine& machine);
/// Refuses to wait for a captured stream, or to query it, and invalidates the capture. Programming
/// Guide, "Prohibited and Unhandled Operations" of stream capture.
void check_not_captured(Machine& machine, const StreamObject& stream);
/// The same for all streams of a context.
void check_not_captured(Machine& machine, const ContextObject& context);
/// Refuses to wait for an event whose last record was captured, or to query it.
void check_not_captured(const EventObject& event);
/// Refuses the use of the legacy stream while a blocking stream of its context is captured, and
/// invalidates the capture if `invalidates`.
void check_legacy(Machine& machine, const StreamObject& stream, bool invalidates);

/// Puts the work on the stream: enqueues it, or adds it to the graph of the stream's capture.
void put(Machine& machine, StreamObject& stream, std::shared_ptr<const Operation> operation);
/// Adds a child graph to the capture of the stream.
void capture_graph(Machine& machine, StreamObject& stream, std::shared_ptr<GraphObject> child);

void begin_capture(Machine& machine, StreamObject& stream, CUstreamCaptureMode mode);
/// Returns the graph. Throws Refusal if the capture is invalid; then it has ended, except on the
/// wrong thread or stream.
std::shared_ptr<GraphObject> end_capture(Machine& machine, StreamObject& stream);
/// The stream waits for an event, and one of them is captured. Returns false if none is.
bool capture_wait(StreamObject& stream, const EventObject& event);
/// A captured stream is destroyed: its capture ends without result.
void abandon_capture(Machine& machine, StreamObject& stream);

}  // namespace sinter::virtual_gpu::driver
