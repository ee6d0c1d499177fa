#include "runtime/device/memory_use.h"

#include <algorithm>

#include "runtime/device/device_state.h"
#include "runtime/device/memory_pool.h"

namespace sinter {

namespace {

constexpr const char* kEarlierUses = "earlier work on the memory of an array";
/// With more streams, the uses are not tracked, and releasing the memory waits for the device.
constexpr std::size_t kMaxStreams = 16;

bool is_captured_now(const StreamState& stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.device.driver.cuStreamIsCapturing(stream.handle, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void await(const DeviceState& device, const std::vector<UsePoint>& points) {
  if (points.empty()) return;
  const CurrentContext current(device);
  const CaptureModeGuard relaxed(device.driver);
  for (const UsePoint& point : points)
    check(device.driver, device.driver.cuEventSynchronize(point.event->handle),
          "cuEventSynchronize", kEarlierUses);
}

}  // namespace

void MemoryUse::begin(DeviceState& device, const std::shared_ptr<StreamState>& stream) {
  if (last_stream_.load(std::memory_order_acquire) == stream->id) return;
  if (stream->handle == per_thread_stream()) return stop_tracking(device);
  std::unique_lock lock(mutex_);
  if (std::ranges::find(ordered_streams_, stream->id) == ordered_streams_.end()) {
    if (ordered_streams_.size() == kMaxStreams) {
      lock.unlock();
      return stop_tracking(device);
    }
    ordered_streams_.reserve(kMaxStreams);
    owned_streams_.reserve(kMaxStreams);
    for (const UsePoint& point : previous_uses_)
      if (point.stream != stream->id)
        check(device.driver,
              device.driver.cuStreamWaitEvent(stream->handle, point.event->handle, /*flags=*/0),
              "cuStreamWaitEvent", kEarlierUses);
    ordered_streams_.push_back(stream->id);
    if (stream->is_owned && is_known_.load(std::memory_order_relaxed))
      owned_streams_.push_back(stream);
  }
  last_stream_.store(stream->id, std::memory_order_release);
}

void MemoryUse::end(DeviceState& device, const StreamState& stream) noexcept {
  if (stream.is_owned || !is_known_.load(std::memory_order_relaxed)) return;
  try {
    const std::lock_guard lock(mutex_);
    auto mark = std::ranges::find_if(marks_, [&](const EndMark& one) {
      return one.is_recorded_by_end && one.stream == stream.id;
    });
    if (mark == marks_.end()) {
      marks_.push_back({.stream = stream.id,
                        .event = device.memory_pool->take_event(),
                        .is_recorded_by_end = true});
      mark = marks_.end() - 1;
    }
    check(device.driver, device.driver.cuEventRecord(mark->event->handle, stream.handle),
          "cuEventRecord", "the end of a copy");
  } catch (...) {
    mark_unknown();
  }
}

void MemoryUse::end_at(const StreamState& stream, const std::shared_ptr<EventState>& mark) {
  if (!is_known_.load(std::memory_order_relaxed)) return;
  std::unique_lock lock(mutex_);
  const bool is_there = std::ranges::any_of(
      marks_, [&](const EndMark& one) { return one.stream == stream.id && one.event == mark; });
  if (is_there) return;
  if (marks_.size() == kMaxStreams) {
    lock.unlock();
    return mark_unknown();
  }
  marks_.push_back({.stream = stream.id, .event = mark, .is_recorded_by_end = false});
}

void MemoryUse::await_previous_uses(DeviceState& device) {
  std::vector<UsePoint> points;
  std::unique_lock lock(mutex_);
  points = previous_uses_;
  lock.unlock();
  // Wait without the lock: the awaited work may depend on a thread that calls begin().
  await(device, points);
  lock.lock();
  previous_uses_.clear();
}

void MemoryUse::mark_unknown() noexcept {
  std::vector<std::shared_ptr<StreamState>> streams;  // destroyed after the lock is released
  std::vector<EndMark> marks;
  const std::lock_guard lock(mutex_);
  is_known_.store(false, std::memory_order_relaxed);
  streams.swap(owned_streams_);
  marks.swap(marks_);
}

void MemoryUse::stop_tracking(DeviceState& device) {
  await_previous_uses(device);
  mark_unknown();
}

std::optional<std::vector<UsePoint>> MemoryUse::record_end_points(DeviceState& device) noexcept {
  if (!is_known_.load(std::memory_order_relaxed)) return std::nullopt;
  try {
    const std::lock_guard lock(mutex_);
    // A stream that used the memory has waited for the previous uses, so they matter only without
    // such a stream.
    std::vector<UsePoint> points;
    if (owned_streams_.empty() && std::ranges::none_of(marks_, &EndMark::is_recorded_by_end))
      points = std::move(previous_uses_);
    for (const std::shared_ptr<StreamState>& stream : owned_streams_) {
      // An event that is recorded in a capture does not mark a point in time.
      if (is_captured_now(*stream)) return std::nullopt;
      std::shared_ptr<EventState> event = device.memory_pool->take_event();
      if (device.driver.cuEventRecord(event->handle, stream->handle) != CUDA_SUCCESS ||
          is_captured_now(*stream))
        return std::nullopt;
      points.push_back({.stream = stream->id, .event = std::move(event)});
    }
    for (const EndMark& mark : marks_) {
      if (mark.event->has_record_failed) return std::nullopt;
      const bool is_there = std::ranges::any_of(points, [&](const UsePoint& point) {
        return point.stream == mark.stream && point.event == mark.event;
      });
      if (!is_there) points.push_back({.stream = mark.stream, .event = mark.event});
    }
    return points;
  } catch (...) {  // no memory or no event: the caller waits for the device instead
    return std::nullopt;
  }
}

}  // namespace sinter
