#include "runtime/collectives/nccl/nccl_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/collectives/nccl/nccl_handle.h"

namespace sinter {

namespace {

using std::chrono::milliseconds;

/// The thread looks again after an eighth of the time that it has waited, within these limits.
constexpr milliseconds kShortestSleep{1}, kLongestSleep{50};
constexpr std::string_view kWatchPurpose = "watching collectives of NCCL";

}  // namespace

NcclWatch::NcclWatch(const DeviceState& device, milliseconds timeout, Observer observer)
    : device_(device), timeout_(timeout), observer_(std::move(observer)) {}

NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const CurrentContextNoThrow current(device_);
  const Driver& driver = device_.driver;
  for (const Item& item : in_flight_) free_events_.push_back(item.event);
  for (const CUevent event : free_events_)
    log_failed_release(driver, driver.cuEventDestroy(event), "cuEventDestroy");
}

CUevent NcclWatch::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_events_.empty()) {
      const CUevent event = free_events_.back();
      free_events_.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  check(device_.driver, device_.driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
        "cuEventCreate", kWatchPurpose);
  return event;
}

void NcclWatch::add(CUstream stream, std::shared_ptr<const std::string> what) {
  const CUevent event = take_event();
  const CUresult recorded = device_.driver.cuEventRecord(event, stream);
  {
    const std::lock_guard lock(mutex_);
    if (recorded != CUDA_SUCCESS) {
      free_events_.push_back(event);
    } else {
      in_flight_.push_back({.event = event, .what = std::move(what)});
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    }
  }
  check(device_.driver, recorded, "cuEventRecord", kWatchPurpose);
  changed_.notify_all();
}

std::shared_ptr<const std::string> NcclWatch::first() {
  const CurrentContextNoThrow current(device_);
  const std::lock_guard lock(mutex_);
  // The thread may not have seen the end of some of them yet.
  const auto found = std::ranges::find_if(in_flight_, [&](const Item& item) {
    return device_.driver.cuEventQuery(item.event) != CUDA_SUCCESS;
  });
  return found == in_flight_.end() ? nullptr : found->what;
}

std::string NcclWatch::look() {
  while (true) {
    CUevent first = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (in_flight_.empty()) return "";
      first = in_flight_.front().event;
    }
    const CUresult state = device_.driver.cuEventQuery(first);
    if (state == CUDA_ERROR_NOT_READY) break;
    if (state != CUDA_SUCCESS)
      return fmt::format("the device failed: {}", describe(device_.driver, state));
    progress_ = Clock::now();
    const std::lock_guard lock(mutex_);
    free_events_.push_back(first);
    in_flight_.pop_front();
  }
  if (std::string error = observer_.find_error(); !error.empty()) return error;
  if (Clock::now() - progress_ < timeout_) return "";
  return late_text(timeout_);
}

void NcclWatch::work() {
  const CurrentContextNoThrow current(device_);  // also: queries may run beside captures
  std::unique_lock lock(mutex_);
  progress_ = Clock::now();
  while (true) {
    if (in_flight_.empty()) {
      changed_.wait(lock, [&] { return is_ending_ || !in_flight_.empty(); });
      progress_ = Clock::now();
    }
    if (is_ending_) return;
    lock.unlock();
    const std::string why = look();
    lock.lock();
    if (!why.empty()) {
      const std::shared_ptr<const std::string> what = in_flight_.front().what;
      // The communicator is useless from now on, so nothing else is watched.
      for (const Item& item : in_flight_) free_events_.push_back(item.event);
      in_flight_.clear();
      lock.unlock();
      observer_.fail(*what, why);
      lock.lock();
      continue;
    }
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - progress_);
    changed_.wait_for(lock, std::clamp(waited / 8, kShortestSleep, kLongestSleep),
                      [&] { return is_ending_; });
  }
}

}  // namespace sinter
