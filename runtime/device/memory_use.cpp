#include "runtime/device/memory_use.h"

#include <algorithm>

#include "runtime/device/device_state.h"
#include "runtime/device/memory_pool.h"

namespace sinter {

namespace {

constexpr const char* kBefore = "work that used the memory of an array before it";
/// More are not kept: who has so many streams waits when the memory is given back.
constexpr std::size_t kMostStreams = 16;

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
          "cuEventSynchronize", kBefore);
}

}  // namespace

void MemoryUse::begin(DeviceState& device, const std::shared_ptr<StreamState>& stream) {
  if (last_.load(std::memory_order_acquire) == stream->id) return;
  if (stream->handle == per_thread_stream()) return let_out(device);
  std::unique_lock lock(mutex_);
  if (std::ranges::find(began_, stream->id) == began_.end()) {
    if (began_.size() == kMostStreams) {
      lock.unlock();
      return let_out(device);
    }
    began_.reserve(kMostStreams);
    streams_.reserve(kMostStreams);
    for (const UsePoint& point : former_)
      if (point.stream != stream->id)
        check(device.driver,
              device.driver.cuStreamWaitEvent(stream->handle, point.event->handle, /*flags=*/0),
              "cuStreamWaitEvent", kBefore);
    began_.push_back(stream->id);
    if (stream->is_owned && is_known_.load(std::memory_order_relaxed)) streams_.push_back(stream);
  }
  last_.store(stream->id, std::memory_order_release);
}

void MemoryUse::end(DeviceState& device, const StreamState& stream) noexcept {
  if (stream.is_owned || !is_known_.load(std::memory_order_relaxed)) return;
  try {
    const std::lock_guard lock(mutex_);
    auto mark = std::ranges::find_if(
        marks_, [&](const Mark& one) { return one.is_own && one.stream == stream.id; });
    if (mark == marks_.end()) {
      marks_.push_back(
          {.stream = stream.id, .event = device.memory_pool->take_event(), .is_own = true});
      mark = marks_.end() - 1;
    }
    check(device.driver, device.driver.cuEventRecord(mark->event->handle, stream.handle),
          "cuEventRecord", "the end of a copy");
  } catch (...) {
    forget();
  }
}

void MemoryUse::end_at(const StreamState& stream, const std::shared_ptr<EventState>& mark) {
  if (!is_known_.load(std::memory_order_relaxed)) return;
  std::unique_lock lock(mutex_);
  const bool is_there = std::ranges::any_of(
      marks_, [&](const Mark& one) { return one.stream == stream.id && one.event == mark; });
  if (is_there) return;
  if (marks_.size() == kMostStreams) {
    lock.unlock();
    return forget();
  }
  marks_.push_back({.stream = stream.id, .event = mark, .is_own = false});
}

void MemoryUse::await_former(DeviceState& device) {
  std::vector<UsePoint> points;
  std::unique_lock lock(mutex_);
  points = former_;
  lock.unlock();
  // What is waited for may wait for another thread, which may begin to use the memory meanwhile.
  await(device, points);
  lock.lock();
  former_.clear();
}

void MemoryUse::forget() noexcept {
  std::vector<std::shared_ptr<StreamState>> streams;  // with nothing locked they may go
  std::vector<Mark> marks;
  const std::lock_guard lock(mutex_);
  is_known_.store(false, std::memory_order_relaxed);
  streams.swap(streams_);
  marks.swap(marks_);
}

void MemoryUse::let_out(DeviceState& device) {
  await_former(device);
  forget();
}

std::optional<std::vector<UsePoint>> MemoryUse::ends(DeviceState& device) noexcept {
  if (!is_known_.load(std::memory_order_relaxed)) return std::nullopt;
  try {
    const std::lock_guard lock(mutex_);
    // Whoever used it has waited for what did so before.
    std::vector<UsePoint> points;
    if (streams_.empty() && std::ranges::none_of(marks_, &Mark::is_own))
      points = std::move(former_);
    for (const std::shared_ptr<StreamState>& stream : streams_) {
      // What is recorded in a capture marks no point in time, neither before it nor in it.
      if (is_captured_now(*stream)) return std::nullopt;
      std::shared_ptr<EventState> event = device.memory_pool->take_event();
      if (device.driver.cuEventRecord(event->handle, stream->handle) != CUDA_SUCCESS ||
          is_captured_now(*stream))
        return std::nullopt;
      points.push_back({.stream = stream->id, .event = std::move(event)});
    }
    for (const Mark& mark : marks_) {
      if (mark.event->is_lost) return std::nullopt;
      const bool is_there = std::ranges::any_of(points, [&](const UsePoint& point) {
        return point.stream == mark.stream && point.event == mark.event;
      });
      if (!is_there) points.push_back({.stream = mark.stream, .event = mark.event});
    }
    return points;
  } catch (...) {  // no memory, or no event: it is waited for, then
    return std::nullopt;
  }
}

}  // namespace sinter
