#include "runtime/device/staging.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "runtime/device/device_state.h"
#include "runtime/support/fork_guard.h"

namespace sinter {

namespace {

/// The number of requests without a new attempt after pinning has failed. A failed driver call
/// costs more than the copy.
constexpr std::uint64_t kRequestsWithoutPinning = 100;

bool uses_host_page_tables(const DeviceState& device) {
  if (device.is_host) return false;
  int value = 0;
  const CUresult result = device.driver.cuDeviceGetAttribute(
      &value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device.handle);
  return result == CUDA_SUCCESS && value == 1;
}

}  // namespace

/// Pinned memory, and the last copy that used it.
struct Staging::PinnedBuffer {
  explicit PinnedBuffer(DeviceState& device) : used(device) {}
  ~PinnedBuffer() {
    if (!memory || is_forked()) return;
    const CurrentContextNoThrow current(used.device);
    log_failed_release(used.device.driver, used.device.driver.cuMemFreeHost(memory),
                       "cuMemFreeHost");
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  EventState used;  ///< recorded after the copy
  void* memory = nullptr;
  std::uint64_t stream = 0;    ///< of the copy; 0: no copy is in flight
  std::uint64_t last_use = 0;  ///< the value of `uses_` when it was last taken
  bool is_held = false;
  bool has_record_failed = false;  ///< the end of its copy is unknown
};

Staging::Staging(DeviceState& device)
    : device_(device), is_coherent_(uses_host_page_tables(device)) {
  // A small copy must not wait for the stream either.
  if (is_coherent_) limits_.least_bytes = 1;
  // The host device copies with the CPU anyway, so staging would only add a copy.
  if (device.is_host) limits_.least_bytes = kNever;
}

Staging::~Staging() = default;

void Staging::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  buffers_.clear();
  limits_ = limits;
  retry_pinning_at_ = requests_;
}

bool Staging::should_stage(std::size_t bytes, const void* host) const {
  return bytes >= limits_.least_bytes && is_pageable(host);
}

bool Staging::may_read_later(const void* host) const { return is_coherent_ && is_pageable(host); }

bool Staging::is_pageable(const void* host) const {
  CUmemorytype type{};
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* values[] = {&type};
  const CUresult result = device_.driver.cuPointerGetAttributes(
      1, attributes, values, reinterpret_cast<CUdeviceptr>(host));
  return result == CUDA_SUCCESS && type == CUmemorytype{};  // unknown to the driver: pageable
}

std::size_t Staging::upload(CUdeviceptr to, const void* from, std::size_t bytes,
                            const StreamState& stream, const Describe& what) {
  if (!should_stage(bytes, from)) return 0;
  std::size_t done = 0;
  while (done < bytes) {
    const HeldBuffer buffer = take(stream);
    if (!buffer) break;
    const std::size_t part = std::min(bytes - done, limits_.buffer_bytes);
    std::memcpy(buffer->memory, static_cast<const std::byte*>(from) + done, part);
    check(device_.driver,
          device_.driver.cuMemcpyHtoDAsync(to + done, buffer->memory, part, stream.handle),
          "cuMemcpyHtoDAsync", what);
    mark(*buffer, stream, what);
    done += part;
  }
  return done;
}

std::size_t Staging::download(void* to, CUdeviceptr from, std::size_t bytes,
                              const StreamState& stream, const Describe& what) {
  if (!should_stage(bytes, to)) return 0;
  struct Copy {
    HeldBuffer buffer;
    std::size_t at, bytes;
  };
  std::deque<Copy> in_flight;
  const auto empty_first = [&] {
    Copy& copy = in_flight.front();
    check(device_.driver, device_.driver.cuEventSynchronize(copy.buffer->used.handle),
          "cuEventSynchronize", what);
    copy.buffer->stream = 0;
    std::memcpy(static_cast<std::byte*>(to) + copy.at, copy.buffer->memory, copy.bytes);
    in_flight.pop_front();
  };
  std::size_t done = 0;
  while (done < bytes) {
    // The host empties one buffer while the device fills the next.
    if (in_flight.size() == 2) empty_first();
    HeldBuffer buffer = take(stream);
    if (!buffer) break;
    const std::size_t part = std::min(bytes - done, limits_.buffer_bytes);
    check(device_.driver,
          device_.driver.cuMemcpyDtoHAsync(buffer->memory, from + done, part, stream.handle),
          "cuMemcpyDtoHAsync", what);
    mark(*buffer, stream, what);
    in_flight.push_back({.buffer = std::move(buffer), .at = done, .bytes = part});
    done += part;
  }
  while (!in_flight.empty()) empty_first();
  return done;
}

void Staging::mark(PinnedBuffer& buffer, const StreamState& stream, const Describe& what) {
  const CUresult result = device_.driver.cuEventRecord(buffer.used.handle, stream.handle);
  buffer.has_record_failed = result != CUDA_SUCCESS;
  buffer.stream = stream.id;
  check(device_.driver, result, "cuEventRecord", what);
}

Staging::HeldBuffer Staging::take(const StreamState& stream) {
  HeldBuffer buffer(nullptr, Release{this});
  {
    const std::lock_guard lock(mutex_);
    buffer.reset(choose(stream));
    if (!buffer) return buffer;
    buffer->is_held = true;
    buffer->last_use = ++uses_;
  }
  if (!is_free(*buffer, stream)) buffer.reset();
  return buffer;
}

/// Prefers a buffer that no copy uses, then a new buffer, then the oldest one of the same stream.
/// Else returns the oldest of all, which may be free by now. Null if there is none.
Staging::PinnedBuffer* Staging::choose(const StreamState& stream) {
  PinnedBuffer* best = nullptr;
  const auto rank = [&](const PinnedBuffer& buffer) {
    return buffer.stream == 0 ? 0 : buffer.stream == stream.id ? 1 : 2;
  };
  for (const std::unique_ptr<PinnedBuffer>& buffer : buffers_) {
    if (buffer->is_held || buffer->has_record_failed) continue;
    if (!best || rank(*buffer) < rank(*best) ||
        (rank(*buffer) == rank(*best) && buffer->last_use < best->last_use))
      best = buffer.get();
  }
  const bool is_full = buffers_.size() >= limits_.buffers || ++requests_ < retry_pinning_at_;
  if ((best && rank(*best) == 0) || is_full) return best;
  auto made = std::make_unique<PinnedBuffer>(device_);
  buffers_.reserve(limits_.buffers);
  const Driver& driver = device_.driver;
  if (driver.cuMemHostAlloc(&made->memory, limits_.buffer_bytes, kMemHostAllocPortable) !=
          CUDA_SUCCESS ||
      driver.cuEventCreate(&made->used.handle, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    retry_pinning_at_ = requests_ + kRequestsWithoutPinning;
    return best;
  }
  buffers_.push_back(std::move(made));
  return buffers_.back().get();
}

bool Staging::is_free(PinnedBuffer& buffer, const StreamState& stream) {
  if (buffer.stream == 0) return true;
  const Driver& driver = device_.driver;
  const CUresult result = buffer.stream == stream.id ? driver.cuEventSynchronize(buffer.used.handle)
                                                     : driver.cuEventQuery(buffer.used.handle);
  if (result == CUDA_SUCCESS) buffer.stream = 0;
  return result == CUDA_SUCCESS;
}

void Staging::release(PinnedBuffer& buffer) noexcept {
  const std::lock_guard lock(mutex_);
  buffer.is_held = false;
}

}  // namespace sinter
