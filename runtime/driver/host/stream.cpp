// The entry points for streams, events and host functions.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/state.h"

#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace sinter::host {
namespace {

struct EventState {
  int device = 0;
  bool has_timing = true;
  std::mutex mutex;
  Point recorded;                                   // null stream: never recorded
  std::shared_ptr<std::atomic<std::int64_t>> time;  // nanoseconds of device time; -1: not reached
  CapturedPoint captured;                           // replaces `recorded` if it was captured
};

Handles<CUstream, StreamState>& streams() { return Handles<CUstream, StreamState>::all(); }
Handles<CUevent, EventState>& events() { return Handles<CUevent, EventState>::all(); }

thread_local bool in_host_function = false;

CUresult invalid_event() {
  return fail(CUDA_ERROR_INVALID_HANDLE, "that event does not exist (any more)");
}

Point recorded_point(EventState& event) {
  const std::lock_guard lock(event.mutex);
  return event.recorded;
}

CapturedPoint captured_point(EventState& event) {
  const std::lock_guard lock(event.mutex);
  return event.captured;
}

void count_synchronization() {
  update_counters([](Counters& counters) { ++counters.synchronizations; });
}

}  // namespace

std::shared_ptr<StreamState> find_stream(CUstream stream) {
  if (!stream || stream == cuda::legacy_stream())
    return scheduler().legacy_stream(current_device());
  return streams().find(stream);
}

CUresult invalid_stream() {
  return fail(CUDA_ERROR_INVALID_HANDLE, "that stream does not exist (any more)");
}

bool is_in_host_function() { return in_host_function; }

void run_host_function(CUhostFn function, void* user_data) {
  const bool was_in_one = std::exchange(in_host_function, true);
  function(user_data);
  in_host_function = was_in_one;
}

namespace entry {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  if (!stream || flags > CU_STREAM_NON_BLOCKING)
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("stream flags {}", flags));
  const bool is_blocking = flags != CU_STREAM_NON_BLOCKING;
  *stream = streams().add(scheduler().create_stream(current_device(), is_blocking));
  return CUDA_SUCCESS;
}

// Queued work of the stream still runs.
CUresult cuStreamDestroy(CUstream stream) {
  return streams().remove(stream) ? CUDA_SUCCESS : invalid_stream();
}

CUresult cuStreamSynchronize(CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (const CUresult result = refuse_in_capture(state, "cuStreamSynchronize");
      result != CUDA_SUCCESS)
    return result;
  count_synchronization();
  return run_until({scheduler().end_of(state)});
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  const auto event_state = events().find(event);
  if (!event_state) return invalid_event();
  if (flags != 0) return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("wait flags {}", flags));
  if (const CapturedPoint point = captured_point(*event_state); point.capture)
    return follow_captured(state, point);
  if (is_capturing(state))
    return fail(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                "a captured stream cannot wait for an event from outside the capture");
  const Point point = recorded_point(*event_state);
  if (!point.stream || point.stream == state) return CUDA_SUCCESS;
  scheduler().submit(state, {.run = [] { return Failure(); }, .waits = {point}});
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  *id = state->id;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  constexpr unsigned kKnownFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
  if (!event || (flags & ~kKnownFlags))
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("event flags {}", flags));
  auto state = std::make_shared<EventState>();
  state->device = current_device();
  state->has_timing = !(flags & CU_EVENT_DISABLE_TIMING);
  *event = events().add(std::move(state));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  return events().remove(event) ? CUDA_SUCCESS : invalid_event();
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  const auto event_state = events().find(event);
  if (!event_state) return invalid_event();
  if (event_state->device != state->device)
    return fail(CUDA_ERROR_INVALID_HANDLE,
                fmt::format("the event is of device {}, the stream of device {}",
                            event_state->device, state->device));
  if (CapturedPoint point = captured_end(state); point.capture) {
    const std::lock_guard lock(event_state->mutex);
    event_state->captured = std::move(point);
    return CUDA_SUCCESS;
  }
  auto time = std::make_shared<std::atomic<std::int64_t>>(-1);
  const Point point = scheduler().submit(state, {.run = [time] {
                                           *time = scheduler().clock().count();
                                           return Failure();
                                         }});
  const std::lock_guard lock(event_state->mutex);
  event_state->captured = {};
  event_state->recorded = point;
  event_state->time = std::move(time);
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) {
  const auto state = events().find(event);
  if (!state) return invalid_event();
  if (const CUresult result = refuse_captured(captured_point(*state), "cuEventSynchronize");
      result != CUDA_SUCCESS)
    return result;
  count_synchronization();
  const Point point = recorded_point(*state);
  return point.stream ? run_until({point}) : CUDA_SUCCESS;
}

// Runs one piece of work if the event is not reached.
CUresult cuEventQuery(CUevent event) {
  const auto state = events().find(event);
  if (!state) return invalid_event();
  if (const CUresult result = refuse_captured(captured_point(*state), "cuEventQuery");
      result != CUDA_SUCCESS)
    return result;
  const Point point = recorded_point(*state);
  if (!point.stream) return CUDA_SUCCESS;
  const bool is_reached = scheduler().poll(point);
  if (const CUresult result = result_of(scheduler().failure()); result != CUDA_SUCCESS)
    return result;
  return is_reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

// Counts only the time that the device works, because the host decides when work runs.
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  std::int64_t times[2];
  const CUevent handles[] = {start, end};
  for (int i = 0; i < 2; ++i) {
    const auto state = events().find(handles[i]);
    if (!state) return invalid_event();
    const std::lock_guard lock(state->mutex);
    if (state->captured.capture)
      return fail(CUDA_ERROR_CAPTURED_EVENT, "an event that was recorded in a capture");
    if (!state->has_timing || !state->time)
      return fail(CUDA_ERROR_INVALID_HANDLE, "an event without timing, or never recorded");
    times[i] = *state->time;
    if (times[i] < 0) return CUDA_ERROR_NOT_READY;
  }
  *milliseconds = static_cast<float>(times[1] - times[0]) * 1e-6f;
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (!function) return fail(CUDA_ERROR_INVALID_VALUE, "a null host function");
  if (is_capturing(state))
    return capture_work(state, HostWork{.function = function, .user_data = user_data});
  scheduler().submit(state, {.run = [function, user_data] {
                       run_host_function(function, user_data);
                       return Failure();
                     },
                             .calls_user = true});
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
