#include "runtime/host_driver/capture.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

namespace sinter::host {
namespace {

/// Of all captures. They are short, and of a thread's own mostly.
std::mutex& mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::vector<std::weak_ptr<CaptureState>>& captures() {
  static auto* const captures = new std::vector<std::weak_ptr<CaptureState>>;
  return *captures;
}

CUresult invalidate(CaptureState& capture, const char* call) {
  if (capture.why_invalid.empty())
    capture.why_invalid = fmt::format("{} was called while a stream was captured", call);
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, capture.why_invalid);
}

CUresult check_valid(const CaptureState& capture) {
  if (capture.why_invalid.empty()) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, capture.why_invalid);
}

/// Whether everything that was recorded comes before what `stream` would record next.
bool is_joined(const CaptureState& capture, const StreamState& stream) {
  const Nodes& nodes = capture.graph->nodes;
  std::vector<bool> is_before(nodes.size());
  for (const std::size_t node : stream.captured) is_before[node] = true;
  // Nodes come behind those that they wait for.
  for (std::size_t node = nodes.size(); node-- > 0;)
    for (const std::size_t user : nodes[node].users)
      if (is_before[user]) is_before[node] = true;
  return std::ranges::find(is_before, false) == is_before.end();
}

}  // namespace

bool is_capturing(const std::shared_ptr<StreamState>& stream) {
  const std::lock_guard lock(mutex());
  return stream->capture != nullptr;
}

CUresult capture_work(const std::shared_ptr<StreamState>& stream, Work work) {
  const std::lock_guard lock(mutex());
  CaptureState& capture = *stream->capture;
  if (const CUresult result = check_valid(capture); result != CUDA_SUCCESS) return result;
  stream->captured = {append_node(*capture.graph, std::move(work), stream->captured)};
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture(const std::shared_ptr<StreamState>& stream, const char* call) {
  const std::lock_guard lock(mutex());
  return stream->capture ? invalidate(*stream->capture, call) : CUDA_SUCCESS;
}

CUresult refuse_in_any_capture(const char* call) {
  const std::lock_guard lock(mutex());
  CUresult result = CUDA_SUCCESS;
  std::erase_if(captures(), [&](const std::weak_ptr<CaptureState>& weak) {
    const auto capture = weak.lock();
    if (capture) result = invalidate(*capture, call);
    return !capture;
  });
  return result;
}

CapturedPoint captured_end(const std::shared_ptr<StreamState>& stream) {
  const std::lock_guard lock(mutex());
  return {.capture = stream->capture, .nodes = stream->captured};
}

CUresult follow_captured(const std::shared_ptr<StreamState>& stream, const CapturedPoint& point) {
  const std::lock_guard lock(mutex());
  CaptureState& capture = *point.capture;
  if (const CUresult result = check_valid(capture); result != CUDA_SUCCESS) return result;
  if (stream->capture && stream->capture != point.capture)
    return fail(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event belongs to another capture");
  if (!stream->capture) {
    stream->capture = point.capture;
    capture.streams.push_back(stream);
  }
  for (const std::size_t node : point.nodes)
    if (std::ranges::find(stream->captured, node) == stream->captured.end())
      stream->captured.push_back(node);
  return CUDA_SUCCESS;
}

namespace entry {

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (state == schedule().legacy_stream())
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
  if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "captures in another mode than the relaxed one");
  const std::lock_guard lock(mutex());
  if (state->capture) return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured already");
  state->capture = std::make_shared<CaptureState>();
  state->capture->origin = state;
  state->capture->streams.push_back(state);
  captures().push_back(state->capture);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const auto state = find_stream(stream);
  if (!state || !graph) return invalid_stream();
  const std::lock_guard lock(mutex());
  *graph = nullptr;
  const std::shared_ptr<CaptureState> capture = state->capture;
  if (!capture) return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
  if (capture->origin.lock() != state) {
    invalidate(*capture, "cuStreamEndCapture of another stream");
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream");
  }
  const bool is_whole = is_joined(*capture, *state);
  for (const std::weak_ptr<StreamState>& weak : capture->streams)
    if (const auto other = weak.lock()) {
      other->capture = nullptr;
      other->captured.clear();
    }
  CUresult result = check_valid(*capture);
  if (result == CUDA_SUCCESS && !is_whole)
    result = fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                  "work on another stream was captured that the first one does not wait for");
  if (result != CUDA_SUCCESS) {
    forget_nodes(*capture->graph);
    return result;
  }
  *graph = publish(capture->graph);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  const std::lock_guard lock(mutex());
  *status = !state->capture                       ? CU_STREAM_CAPTURE_STATUS_NONE
            : state->capture->why_invalid.empty() ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                  : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
