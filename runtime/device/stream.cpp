// Stream and Event.
#include <fmt/format.h>

#include "runtime/device/device_state.h"
#include "runtime/device/stream_capture.h"
#include "sinter/device.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Throws UserError unless both belong to one device.
void check_same_device(std::string_view what, const DeviceState& a, const DeviceState& b) {
  if (&a != &b)
    throw UserError(fmt::format("{}: one belongs to {}, the other to {}; take both from one device",
                                what, to_string(a), to_string(b)));
}

/// Throws UserError if the event was recorded in a capture.
void check_has_time(std::string_view what, const EventState& event) {
  if (event.is_captured)
    throw UserError(
        fmt::format("{}: the event was recorded on a stream that was being captured, so the work "
                    "before it does not run until the CUDA Graph is launched; wait for the stream "
                    "that the graph is launched on, or record the event outside of the capture",
                    what));
}

}  // namespace

std::uint64_t StreamState::next_id() {
  static std::atomic<std::uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t StreamState::wrapped_stream_id(const DeviceState& device, CUstream handle) {
  constexpr std::uint64_t kWrapped = std::uint64_t{1} << 63;
  constexpr std::uint64_t kDefault = kWrapped | std::uint64_t{1} << 62;
  if (!handle || handle == legacy_stream()) return kDefault;  // one stream for all threads
  if (handle == per_thread_stream() || !device.driver.cuStreamGetId) return next_id();
  const CurrentContext current(device);
  const CaptureModeGuard relaxed(device.driver);
  unsigned long long id = 0;
  if (device.driver.cuStreamGetId(handle, &id) != CUDA_SUCCESS) return next_id();
  return kWrapped | id;
}

StreamState::~StreamState() {
  if (!is_owned || !handle) return;
  const CurrentContextNoThrow current(device);
  log_failed_release(device.driver, device.driver.cuStreamDestroy(handle), "cuStreamDestroy");
}

EventState::EventState(DeviceState& device, unsigned flags, std::string_view purpose)
    : EventState(device) {
  check(device.driver, device.driver.cuEventCreate(&handle, flags), "cuEventCreate", purpose);
}

EventState::~EventState() {
  if (!handle) return;
  const CurrentContextNoThrow current(device);
  log_failed_release(device.driver, device.driver.cuEventDestroy(handle), "cuEventDestroy");
}

Stream Device::stream() const {
  const CurrentContext current(*state_);
  const CaptureModeGuard relaxed(state_->driver);
  // The owner exists before the handle, so that a failed allocation cannot leak the handle.
  auto stream = std::make_shared<StreamState>(*state_, /*handle=*/nullptr, /*is_owned=*/true);
  check(state_->driver, state_->driver.cuStreamCreate(&stream->handle, CU_STREAM_NON_BLOCKING),
        "cuStreamCreate", state_->name);
  return Stream(std::move(stream));
}

Event Device::event() const {
  const CurrentContext current(*state_);
  return Event(std::make_shared<EventState>(*state_, CU_EVENT_DEFAULT, state_->name));
}

Stream Stream::wrap(void* handle, Device device) {
  return Stream(std::make_shared<StreamState>(*device.state(), static_cast<CUstream>(handle),
                                              /*is_owned=*/false));
}

Device Stream::device() const { return Device(&state_->device); }
void* Stream::handle() const { return state_->handle; }

void Stream::synchronize() const {
  check_can_wait("Stream::synchronize", *state_);
  const CurrentContext current(state_->device);
  const CaptureModeGuard relaxed(state_->device.driver);
  const Driver& driver = state_->device.driver;
  check(driver, driver.cuStreamSynchronize(state_->handle), "cuStreamSynchronize",
        [&] { return "a stream of " + state_->device.name + kEarlierWorkSuffix; });
}

void Stream::wait(const Event& event) const {
  check_same_device("Stream::wait: the stream and the event", state_->device, event.state_->device);
  const CurrentContext current(state_->device);
  const Driver& driver = state_->device.driver;
  check(driver, driver.cuStreamWaitEvent(state_->handle, event.state_->handle, /*flags=*/0),
        "cuStreamWaitEvent", [&] { return "a stream of " + state_->device.name; });
}

void Event::record(const Stream& stream) const {
  check_same_device("Event::record: the event and the stream", state_->device,
                    stream.state()->device);
  const CurrentContext current(state_->device);
  const Driver& driver = state_->device.driver;
  const bool is_in_capture = is_captured("Event::record", *stream.state());
  check(driver, driver.cuEventRecord(state_->handle, stream.state()->handle), "cuEventRecord",
        [&] { return "a stream of " + state_->device.name; });
  state_->is_captured = is_in_capture;
}

void Event::synchronize() const {
  check_has_time("Event::synchronize", *state_);
  const CurrentContext current(state_->device);
  const Driver& driver = state_->device.driver;
  const CaptureModeGuard relaxed(driver);
  check(driver, driver.cuEventSynchronize(state_->handle), "cuEventSynchronize",
        [&] { return "an event of " + state_->device.name + kEarlierWorkSuffix; });
}

bool Event::is_done() const {
  check_has_time("Event::is_done", *state_);
  const CurrentContext current(state_->device);
  const Driver& driver = state_->device.driver;
  const CaptureModeGuard relaxed(driver);
  const CUresult result = driver.cuEventQuery(state_->handle);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(driver, result, "cuEventQuery",
        [&] { return "an event of " + state_->device.name + kEarlierWorkSuffix; });
  return true;
}

float Event::elapsed_since(const Event& start) const {
  check_same_device("Event::elapsed_since: the two events", state_->device, start.state_->device);
  const CurrentContext current(state_->device);
  const Driver& driver = state_->device.driver;
  float milliseconds = 0;
  check(driver, driver.cuEventElapsedTime(&milliseconds, start.state_->handle, state_->handle),
        "cuEventElapsedTime", [&] { return "two events of " + state_->device.name; });
  return milliseconds;
}

}  // namespace sinter
