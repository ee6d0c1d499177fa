#include "tests/virtual_gpu/driver/capture.h"

#include <algorithm>
#include <set>

#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

namespace {

[[noreturn]] void refuse_invalidated() {
  throw Refusal(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture of the stream is invalid");
}

/// Ends the capture: its streams run work again, and the graph, if it is not taken, is destroyed.
void finish(Machine& machine, const std::shared_ptr<CaptureSequence>& sequence) {
  sequence->has_ended = true;
  sequence->graph->is_captured_into = false;
  for (StreamObject* const stream : sequence->streams) {
    stream->capture = nullptr;
    stream->capture_tails.clear();
    stream->reported_tails.clear();
  }
  sequence->streams.clear();
  sequence->origin = nullptr;
  std::erase(machine.captures, sequence);
}

/// The nodes that the given ones depend on, with themselves.
std::set<const NodeObject*> closure(const std::vector<NodeObject*>& nodes) {
  std::set<const NodeObject*> found;
  std::vector<const NodeObject*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const NodeObject* const node = open.back();
    open.pop_back();
    if (!found.insert(node).second) continue;
    for (const Edge& edge : node->edges) open.push_back(edge.from);
  }
  return found;
}

/// True if every joined stream has been joined back to the origin. Nodes that
/// cuStreamUpdateCaptureDependencies removed from a stream do not matter.
bool is_joined(const CaptureSequence& sequence) {
  const std::set<const NodeObject*> reached = closure(sequence.origin->capture_tails);
  return std::ranges::all_of(sequence.streams, [&](const StreamObject* stream) {
    return std::ranges::all_of(stream->capture_tails,
                               [&](const NodeObject* node) { return reached.contains(node); });
  });
}

void add_tails(StreamObject& stream, const std::vector<NodeObject*>& nodes) {
  for (NodeObject* const node : nodes)
    if (std::ranges::find(stream.capture_tails, node) == stream.capture_tails.end())
      stream.capture_tails.push_back(node);
}

std::vector<Edge> edges_to(const StreamObject& stream, const Operation& operation) {
  const auto* const launch = std::get_if<KernelLaunch>(&operation);
  // Programmatic stream serialization becomes a programmatic edge behind one kernel.
  const bool is_programmatic =
      launch && launch->is_programmatic && stream.capture_tails.size() == 1 &&
      std::holds_alternative<KernelLaunch>(*stream.capture_tails[0]->operation);
  std::vector<Edge> edges;
  for (NodeObject* const node : stream.capture_tails) edges.push_back({node, is_programmatic});
  return edges;
}

void capture(Machine& machine, StreamObject& stream, std::shared_ptr<const Operation> operation,
             std::shared_ptr<GraphObject> child) {
  if (stream.capture->is_invalidated) refuse_invalidated();
  std::vector<Edge> edges = edges_to(stream, *operation);
  NodeObject& node = add_node(machine, *stream.capture->graph, std::move(edges),
                              std::move(operation), std::move(child));
  stream.capture_tails = {&node};
}

}  // namespace

void check_unsafe(Machine& machine) {
  const CUstreamCaptureMode mode = this_thread().capture_mode;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  bool is_forbidden = false;
  for (const std::shared_ptr<CaptureSequence>& sequence : machine.captures) {
    if (sequence->is_invalidated) continue;
    const bool is_own = sequence->thread == std::this_thread::get_id() &&
                        sequence->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool is_global =
        mode == CU_STREAM_CAPTURE_MODE_GLOBAL && sequence->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!is_own && !is_global) continue;
    sequence->is_invalidated = true;
    is_forbidden = true;
  }
  if (is_forbidden)
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "the call is potentially unsafe while a stream is captured");
}

void check_not_captured(Machine& machine, const StreamObject& stream) {
  if (stream.capture) {
    const bool was_invalidated = std::exchange(stream.capture->is_invalidated, true);
    if (was_invalidated) refuse_invalidated();
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is captured");
  }
  check_legacy(machine, stream, /*invalidates=*/true);
}

void check_not_captured(Machine& machine, const ContextObject& context) {
  bool is_captured = false;
  for (const std::shared_ptr<CaptureSequence>& sequence : machine.captures)
    for (const StreamObject* const stream : sequence->streams)
      if (stream->context == &context) sequence->is_invalidated = is_captured = true;
  if (is_captured)
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream of the context is captured");
}

void check_not_captured(const EventObject& event) {
  if (!event.capture) return;
  if (!event.capture->has_ended) event.capture->is_invalidated = true;
  throw Refusal(CUDA_ERROR_CAPTURED_EVENT, "the last record of the event was captured");
}

void check_legacy(Machine& machine, const StreamObject& stream, bool invalidates) {
  if (!stream.is_legacy) return;
  bool is_captured = false;
  for (const std::shared_ptr<CaptureSequence>& sequence : machine.captures)
    for (const StreamObject* const other : sequence->streams) {
      if (other->context != stream.context || !other->is_blocking) continue;
      is_captured = true;
      if (invalidates) sequence->is_invalidated = true;
    }
  if (is_captured)
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "the legacy stream would wait for a stream that is captured");
}

void put(Machine& machine, StreamObject& stream, std::shared_ptr<const Operation> operation) {
  if (stream.capture) return capture(machine, stream, std::move(operation), nullptr);
  check_legacy(machine, stream, /*invalidates=*/true);
  enqueue(machine, stream, std::move(operation));
}

void capture_graph(Machine& machine, StreamObject& stream, std::shared_ptr<GraphObject> child) {
  capture(machine, stream, make_operation(Empty{}), std::move(child));
}

void begin_capture(Machine& machine, StreamObject& stream, CUstreamCaptureMode mode) {
  require(static_cast<unsigned>(mode) <= CU_STREAM_CAPTURE_MODE_RELAXED, "the mode is unknown");
  if (stream.is_legacy)
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
  if (stream.capture) throw Refusal(CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
  auto sequence = std::make_shared<CaptureSequence>();
  sequence->id = machine.next_capture_id++;
  sequence->mode = mode;
  sequence->thread = std::this_thread::get_id();
  sequence->origin = &stream;
  sequence->graph = std::make_shared<GraphObject>();
  sequence->graph->is_captured_into = true;
  machine.handles.add(sequence->graph);
  sequence->streams = {&stream};
  stream.capture = sequence;
  machine.captures.push_back(std::move(sequence));
}

std::shared_ptr<GraphObject> end_capture(Machine& machine, StreamObject& stream) {
  const std::shared_ptr<CaptureSequence> sequence = stream.capture;
  if (!sequence) throw Refusal(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
  if (sequence->origin != &stream)
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began on another stream");
  if (sequence->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      sequence->thread != std::this_thread::get_id())
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began on another thread");
  const bool has_joined = is_joined(*sequence);
  finish(machine, sequence);
  // Events keep the sequence, but must not keep the graph and the objects of the user.
  std::shared_ptr<GraphObject> graph = std::move(sequence->graph);
  if (!sequence->is_invalidated && has_joined) return graph;
  forget_graph(machine, *graph);
  if (sequence->is_invalidated) refuse_invalidated();
  throw Refusal(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream was not joined to the origin");
}

bool capture_wait(StreamObject& stream, const EventObject& event) {
  if (!stream.capture && !event.capture) return false;
  const auto refuse = [&](CUresult code, const char* reason) {
    for (const auto& sequence : {stream.capture, event.capture})
      if (sequence && !sequence->has_ended) sequence->is_invalidated = true;
    throw Refusal(code, reason);
  };
  if ((stream.capture && stream.capture->is_invalidated) ||
      (event.capture && event.capture->is_invalidated && !event.capture->has_ended))
    refuse_invalidated();
  if (stream.capture && !event.capture) {
    if (!event.marker) return true;  // it was never recorded, so there is nothing to wait for
    refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "the event was recorded outside of the capture");
  }
  if (event.capture->has_ended)
    refuse(stream.capture ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_ERROR_CAPTURED_EVENT,
           "the event was recorded in a capture that has ended");
  if (stream.capture && stream.capture != event.capture)
    refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event belongs to another capture");
  if (stream.is_legacy)
    refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream cannot be captured");
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.capture->streams.push_back(&stream);
  }
  add_tails(stream, event.capture_tails);
  return true;
}

void abandon_capture(Machine& machine, StreamObject& stream) {
  const std::shared_ptr<CaptureSequence> sequence = stream.capture;
  if (!sequence) return;
  if (sequence->origin == &stream) {
    finish(machine, sequence);
    forget_graph(machine, *std::exchange(sequence->graph, nullptr));
    return;
  }
  sequence->is_invalidated = true;
  std::erase(sequence->streams, &stream);
  stream.capture = nullptr;
}

}  // namespace sinter::virtual_gpu::driver
