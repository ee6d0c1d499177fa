#include "runtime/execution/table_uploads.h"

#include <algorithm>
#include <cstring>

#include "runtime/support/fork_guard.h"

namespace sinter {

TableUploads::~TableUploads() {
  if (!pinned_ || is_forked()) return;
  const CurrentContextNoThrow current(device_);
  log_failed_release(device_.driver, device_.driver.cuMemFreeHost(pinned_), "cuMemFreeHost");
}

/// Allocates all buffers at once, because an allocation of pinned memory may wait for the device.
void TableUploads::allocate(std::size_t bytes, const Describe& what) {
  const Driver& driver = device_.driver;
  for (Buffer& buffer : buffers_)
    if (!buffer.copied)
      buffer.copied = std::make_unique<EventState>(device_, CU_EVENT_DISABLE_TIMING, what());
  if (driver.cuMemHostAlloc(&pinned_, kBuffers * bytes, kMemHostAllocPortable) != CUDA_SUCCESS)
    pinned_ = nullptr;
  if (!pinned_) pageable_ = std::make_unique<std::byte[]>(kBuffers * bytes);
  std::byte* const begin = pinned_ ? static_cast<std::byte*>(pinned_) : pageable_.get();
  for (std::size_t i = 0; i < kBuffers; ++i) buffers_[i].memory = begin + i * bytes;
}

void TableUploads::await(Buffer& buffer, const Describe& what) const {
  if (!buffer.is_in_flight) return;
  const Driver& driver = device_.driver;
  if (buffer.copied->has_record_failed) {  // the end of its copies is unknown
    check(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize", what);
  } else if (const CUresult result = driver.cuEventQuery(buffer.copied->handle);
             result != CUDA_ERROR_NOT_READY) {
    check(driver, result, "cuEventQuery", what);
  } else {
    check(driver, driver.cuEventSynchronize(buffer.copied->handle), "cuEventSynchronize", what);
  }
  buffer.is_in_flight = false;
}

void TableUploads::upload(LaunchSet& launches, CUstream stream, const Describe& what) {
  const auto is_stale = [](const PreparedLaunch& launch) {
    return !launch.table.empty() && launch.table_changed;
  };
  if (std::ranges::none_of(launches.launches(), is_stale)) [[likely]]
    return;
  const Driver& driver = device_.driver;
  const CaptureModeGuard relaxed(driver);
  if (!buffers_[0].memory) allocate(static_cast<std::size_t>(launches.layout().table_bytes), what);
  Buffer& buffer = buffers_[next_];
  await(buffer, what);
  next_ = (next_ + 1) % kBuffers;
  buffer.copied->has_record_failed = true;
  buffer.is_in_flight = true;
  std::byte* at = buffer.memory;
  for (PreparedLaunch& launch : launches.launches()) {
    if (!is_stale(launch)) continue;
    const std::size_t bytes = launch.table.size_bytes();
    std::memcpy(at, launch.table.data(), bytes);
    check(driver, driver.cuMemcpyHtoDAsync(launch.table_at, at, bytes, stream), "cuMemcpyHtoDAsync",
          what);
    launch.table_changed = false;
    at += bytes;
  }
  check(driver, driver.cuEventRecord(buffer.copied->handle, stream), "cuEventRecord", what);
  buffer.copied->has_record_failed = false;
}

}  // namespace sinter
