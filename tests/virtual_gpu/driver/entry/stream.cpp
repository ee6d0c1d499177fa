// Entry points: streams and their captures.
#include <algorithm>

#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// The streams that cuStreamDestroy accepts.
std::shared_ptr<StreamObject> find_created(const Call& call, CUstream handle) {
  if (!handle || handle == legacy_stream() || handle == per_thread_stream())
    throw Refusal(CUDA_ERROR_INVALID_HANDLE, "a default stream cannot be destroyed");
  return call.machine.handles.find<StreamObject>(handle, CUDA_ERROR_INVALID_HANDLE);
}

CUstreamCaptureStatus status_of(const StreamObject& stream) {
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->is_invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

struct CaptureInfo {
  CUstreamCaptureStatus* status = nullptr;
  unsigned long long* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  std::size_t* count = nullptr;
};

void report_capture(const Call& call, CUstream handle, const CaptureInfo& info) {
  StreamObject& stream = *find_usable_stream(call, handle);
  require(info.status, "the place of the status is null");
  check_legacy(call.machine, stream, /*invalidates=*/false);
  *info.status = status_of(stream);
  if (*info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  if (info.id) *info.id = stream.capture->id;
  if (info.graph) *info.graph = as<CUgraph>(stream.capture->graph->handle);
  stream.reported_tails.clear();
  for (const NodeObject* const node : stream.capture_tails)
    stream.reported_tails.push_back(as<CUgraphNode>(node->handle));
  if (info.dependencies) *info.dependencies = stream.reported_tails.data();
  if (info.count) *info.count = stream.reported_tails.size();
}

void update_dependencies(const Call& call, CUstream handle, const CUgraphNode* dependencies,
                         std::size_t count, unsigned flags) {
  StreamObject& stream = *find_usable_stream(call, handle);
  require(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES, "the flags are unknown");
  if (!stream.capture) throw Refusal(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
  if (stream.capture->is_invalidated)
    throw Refusal(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture of the stream is invalid");
  const std::vector<Edge> edges =
      find_dependencies(call, *stream.capture->graph, dependencies, count);
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream.capture_tails.clear();
  for (const Edge& edge : edges)
    if (std::ranges::find(stream.capture_tails, edge.from) == stream.capture_tails.end())
      stream.capture_tails.push_back(edge.from);
}

CUresult begin(CUstream stream, CUstreamCaptureMode mode) {
  return enter("cuStreamBeginCapture", Needs::context, [&](Call& call) {
    begin_capture(call.machine, *find_usable_stream(call, stream), mode);
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return enter("cuStreamCreate", Needs::context, [&](Call& call) {
    require(stream, "stream is null");
    require(flags <= CU_STREAM_NON_BLOCKING, "the flags are unknown");
    const std::shared_ptr<StreamObject> made =
        make_stream(call.machine, *call.context, {.is_blocking = flags != CU_STREAM_NON_BLOCKING});
    call.machine.handles.add(made);
    *stream = as<CUstream>(made->handle);
  });
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  return enter("cuStreamDestroy", Needs::context, [&](Call& call) {
    const std::shared_ptr<StreamObject> found = find_created(call, stream);
    abandon_capture(call.machine, *found);
    found->is_destroyed = true;
    call.machine.handles.remove(found->handle);
    drop_destroyed_streams(*found->context);
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return enter("cuStreamSynchronize", Needs::context, [&](Call& call) {
    const std::shared_ptr<StreamObject> found = find_usable_stream(call, stream);
    check_not_captured(call.machine, *found);
    check_unsafe(call.machine);
    synchronize(call, pending_work(*found), *found->context);
  });
}

CUresult cuStreamQuery(CUstream stream) {
  return enter("cuStreamQuery", Needs::context, [&](Call& call) {
    const std::shared_ptr<StreamObject> found = find_usable_stream(call, stream);
    check_not_captured(call.machine, *found);
    check_unsafe(call.machine);
    return query(call, pending_work(*found), *found->context);
  });
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return enter("cuStreamGetId", Needs::context, [&](Call& call) {
    require(id, "id is null");
    *id = find_stream(call, stream)->id;
  });
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, mode);
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return enter("cuStreamEndCapture", Needs::context, [&](Call& call) {
    require(graph, "graph is null");
    *graph = nullptr;
    *graph = as<CUgraph>(end_capture(call.machine, *find_stream(call, stream))->handle);
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return enter("cuStreamIsCapturing", Needs::context,
               [&](Call& call) { report_capture(call, stream, {.status = status}); });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                unsigned long long* id) {
  return enter("cuStreamGetCaptureInfo", Needs::context,
               [&](Call& call) { report_capture(call, stream, {.status = status, .id = id}); });
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status,
                                   unsigned long long* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, std::size_t* count) {
  return enter("cuStreamGetCaptureInfo", Needs::context, [&](Call& call) {
    report_capture(
        call, stream,
        {.status = status, .id = id, .graph = graph, .dependencies = dependencies, .count = count});
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies,
                                           std::size_t count, unsigned flags) {
  return enter("cuStreamUpdateCaptureDependencies", Needs::context,
               [&](Call& call) { update_dependencies(call, stream, dependencies, count, flags); });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return enter("cuThreadExchangeStreamCaptureMode", Needs::initialization, [&](Call&) {
    require(mode && static_cast<unsigned>(*mode) <= CU_STREAM_CAPTURE_MODE_RELAXED,
            "the mode is null or unknown");
    std::swap(*mode, this_thread().capture_mode);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
