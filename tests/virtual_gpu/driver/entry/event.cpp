// Entry points: events.
#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

namespace {

constexpr unsigned kInterprocess = 4;
constexpr unsigned kAllEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | kInterprocess;

std::shared_ptr<EventObject> find_usable_event(const Call& call, CUevent handle) {
  std::shared_ptr<EventObject> event = find_event(call, handle);
  if (event->context->failure != CUDA_SUCCESS)
    throw Refusal(event->context->failure, "the context of the event has failed");
  return event;
}

void record(const Call& call, EventObject& event, StreamObject& stream) {
  if (event.context != stream.context)
    throw Refusal(CUDA_ERROR_INVALID_HANDLE, "the event and the stream are of two contexts");
  if (stream.capture) {
    if (stream.capture->is_invalidated)
      throw Refusal(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture of the stream is invalid");
    event.capture = stream.capture;
    event.capture_tails = stream.capture_tails;
    event.marker = nullptr;
    return;
  }
  check_legacy(call.machine, stream, /*invalidates=*/true);
  event.capture = nullptr;
  event.capture_tails.clear();
  event.marker = enqueue(call.machine, stream, make_operation(Empty{}));
}

/// The work before the last record of the event, for a call that waits for it or queries it.
PendingWork work_before(const Call& call, const EventObject& event) {
  check_not_captured(event);
  check_unsafe(call.machine);
  return pending_work(event.marker);
}

/// The time of the last record in nanoseconds of the device's clock.
std::uint64_t time_of(const EventObject& event) {
  if (event.flags & CU_EVENT_DISABLE_TIMING)
    throw Refusal(CUDA_ERROR_INVALID_HANDLE, "the event has no time");
  if (event.capture) throw Refusal(CUDA_ERROR_CAPTURED_EVENT, "the event was captured");
  if (!event.marker) throw Refusal(CUDA_ERROR_INVALID_HANDLE, "the event was never recorded");
  return event.marker->end_ns;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return enter("cuEventCreate", Needs::context, [&](Call& call) {
    require(event, "event is null");
    require((flags & ~kAllEventFlags) == 0, "the flags are unknown");
    require(!(flags & kInterprocess) || (flags & CU_EVENT_DISABLE_TIMING),
            "an event for several processes cannot have a time");
    const auto made = std::make_shared<EventObject>();
    made->context = call.context;
    made->flags = flags;
    call.machine.handles.add(made);
    *event = as<CUevent>(made->handle);
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return enter("cuEventDestroy", Needs::context,
               [&](Call& call) { call.machine.handles.remove(find_event(call, event)->handle); });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return enter("cuEventRecord", Needs::context, [&](Call& call) {
    const std::shared_ptr<EventObject> found = find_event(call, event);
    record(call, *found, *find_usable_stream(call, stream));
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return enter("cuStreamWaitEvent", Needs::context, [&](Call& call) {
    StreamObject& found = *find_usable_stream(call, stream);
    const std::shared_ptr<EventObject> waited = find_event(call, event);
    require(flags == 0, "an external event is not modelled, or the stream is not captured");
    if (capture_wait(found, *waited)) return;
    check_legacy(call.machine, found, /*invalidates=*/true);
    if (!waited->marker) return;
    const TaskPointer extra[] = {waited->marker};
    enqueue(call.machine, found, make_operation(Empty{}), extra);
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return enter("cuEventSynchronize", Needs::context, [&](Call& call) {
    const std::shared_ptr<EventObject> found = find_usable_event(call, event);
    synchronize(call, work_before(call, *found), *found->context);
  });
}

CUresult cuEventQuery(CUevent event) {
  return enter("cuEventQuery", Needs::context, [&](Call& call) {
    const std::shared_ptr<EventObject> found = find_usable_event(call, event);
    return query(call, work_before(call, *found), *found->context);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return enter("cuEventElapsedTime", Needs::context, [&](Call& call) {
    require(milliseconds, "milliseconds is null");
    const std::shared_ptr<EventObject> first = find_usable_event(call, start);
    const std::shared_ptr<EventObject> last = find_usable_event(call, end);
    if (first->context != last->context)
      throw Refusal(CUDA_ERROR_INVALID_HANDLE, "the events are of two contexts");
    const std::uint64_t begin = time_of(*first);
    const std::uint64_t finish = time_of(*last);
    for (const EventObject* const event : {first.get(), last.get()})
      if (event->marker->state != Task::State::done)
        throw Refusal(CUDA_ERROR_NOT_READY, "the work before an event is not done");
    *milliseconds =
        static_cast<float>(static_cast<double>(finish) - static_cast<double>(begin)) / 1e6F;
  });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime(milliseconds, start, end);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
