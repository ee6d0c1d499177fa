#include "runtime/driver/host/capture.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "ir/support/sort_unique.h"

namespace sinter::host {
namespace {

constexpr const char* kNotCaptured = "the stream is not being captured";

/// One lock for all captures: they are short, and most are used by one thread.
std::mutex& mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::vector<std::weak_ptr<CaptureState>>& captures() {
  static auto* const captures = new std::vector<std::weak_ptr<CaptureState>>;
  return *captures;
}

CUresult invalidate(CaptureState& capture, const char* call) {
  if (capture.invalid_reason.empty())
    capture.invalid_reason = fmt::format("{} was called while a stream was captured", call);
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, capture.invalid_reason);
}

CUresult check_valid(const CaptureState& capture) {
  if (capture.invalid_reason.empty()) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, capture.invalid_reason);
}

/// True if `is_meant` is true for a stream that records into the capture.
bool has_stream(const CaptureState& capture, auto is_meant) {
  return std::ranges::any_of(capture.streams, [&](const std::weak_ptr<StreamState>& weak) {
    const auto stream = weak.lock();
    return stream && is_meant(*stream);
  });
}

/// True if the latest nodes of all other streams come before the next node of `stream`.
bool is_joined(const CaptureState& capture, const StreamState& stream) {
  const Nodes& nodes = capture.graph->nodes;
  std::vector<bool> is_before(nodes.size());
  std::vector<std::vector<std::size_t>> waits_for(nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (const Edge& edge : nodes[node].users) waits_for[edge.to].push_back(node);
  for (std::vector<std::size_t> open = stream.capture_tail; !open.empty();) {
    const std::size_t node = open.back();
    open.pop_back();
    if (is_before[node]) continue;
    is_before[node] = true;
    open.insert(open.end(), waits_for[node].begin(), waits_for[node].end());
  }
  const auto is_missing = [&](std::size_t node) { return !is_before[node]; };
  return !has_stream(capture, [&](const StreamState& other) {
    return std::ranges::any_of(other.capture_tail, is_missing);
  });
}

/// Programmatic stream serialization becomes a programmatic edge behind one kernel.
bool starts_early_behind(const GraphState& graph, const std::vector<std::size_t>& tail,
                         const Work& work) {
  const auto* const kernel = std::get_if<KernelWork>(&work);
  return kernel && kernel->launch.may_start_early && tail.size() == 1 &&
         std::holds_alternative<KernelWork>(*graph.works[tail[0]]);
}

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
std::atomic<int> ongoing = 0;  // number of captures, so that calls take no lock without one

/// True if `capture` forbids potentially unsafe calls to this thread.
bool forbids(const CaptureState& capture) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id())
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/// Invalidates the captures that `is_meant` selects. Success if there is none.
CUresult refuse(const char* call, auto is_meant) {
  if (ongoing == 0) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex());
  CUresult result = CUDA_SUCCESS;
  for (const std::weak_ptr<CaptureState>& weak : captures())
    if (const auto capture = weak.lock(); capture && is_meant(*capture))
      result = invalidate(*capture, call);
  return result;
}

bool captures_blocking_stream(int device) {
  return std::ranges::any_of(captures(), [&](const std::weak_ptr<CaptureState>& weak) {
    const auto capture = weak.lock();
    return capture && has_stream(*capture, [&](const StreamState& stream) {
             return stream.is_blocking && stream.device == device;
           });
  });
}

/// Detaches the capture from its streams, and removes it from the list.
void finish(const CaptureState& capture) {
  for (const std::weak_ptr<StreamState>& weak : capture.streams)
    if (const auto other = weak.lock()) {
      other->capture = nullptr;
      other->capture_tail.clear();
      other->reported_dependencies.clear();
    }
  std::erase_if(captures(), [&](const std::weak_ptr<CaptureState>& weak) {
    const auto one = weak.lock();
    return !one || one.get() == &capture;
  });
  ongoing = static_cast<int>(captures().size());
}

}  // namespace

bool is_capturing(const std::shared_ptr<StreamState>& stream) {
  const std::lock_guard lock(mutex());
  return stream->capture != nullptr;
}

CUresult capture_work(const std::shared_ptr<StreamState>& stream, Work work) {
  const std::lock_guard lock(mutex());
  if (!stream->capture) return fail(CUDA_ERROR_ILLEGAL_STATE, kNotCaptured);
  CaptureState& capture = *stream->capture;
  if (const CUresult result = check_valid(capture); result != CUDA_SUCCESS) return result;
  std::vector<std::size_t> tail(1);  // allocated before the node is added
  const std::lock_guard graph_lock(capture.graph->mutex);
  const bool starts_early = starts_early_behind(*capture.graph, stream->capture_tail, work);
  tail[0] = append_node(*capture.graph, std::move(work), stream->capture_tail, starts_early);
  stream->capture_tail = std::move(tail);
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture(const std::shared_ptr<StreamState>& stream, const char* call) {
  const std::lock_guard lock(mutex());
  return stream->capture ? invalidate(*stream->capture, call) : CUDA_SUCCESS;
}

CUresult refuse_captured(const CapturedPoint& point, const char* call) {
  if (!point.capture) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex());
  if (point.capture->graph) invalidate(*point.capture, call);
  return fail(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture, which does not run");
}

CUresult refuse_in_captures_of(int device, const char* call) {
  return refuse(call, [&](const CaptureState& capture) {
    return has_stream(capture, [&](const StreamState& stream) { return stream.device == device; });
  });
}

CUresult refuse_unsafe(const char* call) { return refuse(call, forbids); }

CapturedPoint captured_end(const std::shared_ptr<StreamState>& stream) {
  const std::lock_guard lock(mutex());
  return {.capture = stream->capture, .nodes = stream->capture_tail};
}

CUresult follow_captured(const std::shared_ptr<StreamState>& stream, const CapturedPoint& point) {
  const std::lock_guard lock(mutex());
  CaptureState& capture = *point.capture;
  if (!capture.graph)
    return fail(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture that has ended");
  if (stream->is_legacy) {
    invalidate(capture, "cuStreamWaitEvent of the legacy stream");
    return fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                "the legacy stream cannot wait for an event of a capture");
  }
  if (const CUresult result = check_valid(capture); result != CUDA_SUCCESS) return result;
  if (stream->capture && stream->capture != point.capture)
    return fail(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event belongs to another capture");
  if (!stream->capture) {
    capture.streams.push_back(stream);
    stream->capture = point.capture;
  }
  for (const std::size_t node : point.nodes)
    if (std::ranges::find(stream->capture_tail, node) == stream->capture_tail.end())
      stream->capture_tail.push_back(node);
  return CUDA_SUCCESS;
}

namespace entry {

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (state->is_legacy)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return fail(CUDA_ERROR_INVALID_VALUE, "that capture mode is not known");
  static unsigned long long captures_begun = 0;
  const std::lock_guard lock(mutex());
  if (state->capture) return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured already");
  auto capture = std::make_shared<CaptureState>();
  capture->id = ++captures_begun;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = state;
  capture->streams.push_back(state);
  capture->graph->is_being_captured = true;
  captures().push_back(capture);
  capture->handle = add_graph_handle(capture->graph);
  ongoing = static_cast<int>(captures().size());
  state->capture = std::move(capture);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (!graph) return fail(CUDA_ERROR_INVALID_VALUE, "a null graph pointer");
  const std::lock_guard lock(mutex());
  *graph = nullptr;
  const std::shared_ptr<CaptureState> capture = state->capture;
  if (!capture) return fail(CUDA_ERROR_ILLEGAL_STATE, kNotCaptured);
  if (capture->origin.lock() != state) {
    invalidate(*capture, "cuStreamEndCapture of another stream");
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream");
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                "another thread began the capture, which is not a relaxed one");
  CUresult result = check_valid(*capture);
  if (result == CUDA_SUCCESS && !is_joined(*capture, *state))
    result = fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                  "work on another stream was captured that the first one does not wait for");
  finish(*capture);  // allocates nothing from here on
  const std::shared_ptr<GraphState> made = std::exchange(capture->graph, nullptr);
  if (result != CUDA_SUCCESS) {
    remove_graph_handle(capture->handle);
    return result;
  }
  const std::lock_guard graph_lock(made->mutex);
  made->is_being_captured = false;
  *graph = capture->handle;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return cuStreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                unsigned long long* id, CUgraph* graph,
                                const CUgraphNode** dependencies, std::size_t* count) {
  if (!status) return fail(CUDA_ERROR_INVALID_VALUE, "a null status pointer");
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  const std::lock_guard lock(mutex());
  if (state->is_legacy && captures_blocking_stream(state->device))
    return fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                "a stream is being captured that the legacy stream waits for");
  *status = !state->capture                          ? CU_STREAM_CAPTURE_STATUS_NONE
            : state->capture->invalid_reason.empty() ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                     : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  const CaptureState& capture = *state->capture;
  if (id) *id = capture.id;
  if (graph) *graph = capture.handle;
  if (count) *count = state->capture_tail.size();
  if (!dependencies) return CUDA_SUCCESS;
  state->reported_dependencies.clear();
  const std::lock_guard graph_lock(capture.graph->mutex);
  for (const std::size_t node : state->capture_tail)
    state->reported_dependencies.push_back(capture.graph->nodes[node].handle);
  *dependencies = state->reported_dependencies.data();
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies,
                                           std::size_t count, unsigned flags) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("update flags {}", flags));
  const std::lock_guard lock(mutex());
  if (!state->capture) return fail(CUDA_ERROR_ILLEGAL_STATE, kNotCaptured);
  CaptureState& capture = *state->capture;
  if (const CUresult result = check_valid(capture); result != CUDA_SUCCESS) return result;
  std::vector<std::size_t> indices;
  if (!find_nodes(*capture.graph, {dependencies, count}, indices))
    return fail(CUDA_ERROR_INVALID_VALUE, "a dependency is not a node of the captured graph");
  if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
    indices.insert(indices.end(), state->capture_tail.begin(), state->capture_tail.end());
  sort_unique(indices);
  state->capture_tail = std::move(indices);
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return fail(CUDA_ERROR_INVALID_VALUE, "that capture mode is not known");
  *mode = std::exchange(thread_mode, *mode);
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
