#include "runtime/collectives/nccl/nccl_handle.h"

#include <condition_variable>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace sinter {

namespace {

using namespace nccl;
using std::chrono::steady_clock;

constexpr std::chrono::microseconds kSettleSleep{200};
/// How long a caller waits for the end of a communicator, and an abort for a thread that uses it.
/// That thread may be blocked by the work that the abort ends.
constexpr std::chrono::seconds kPatience{2};

/// Whether work of another thread is done.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;

  void finish() {
    const std::lock_guard lock(mutex);
    is_done = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kPatience, [&] { return is_done; });
  }
};

}  // namespace

std::string late_text(std::chrono::milliseconds timeout) {
  return fmt::format(
      "it waited longer than {} ms for the other ranks, of which one has ended, is late or runs "
      "other collectives; raise NcclOptions::timeout if ranks may be so late",
      timeout.count());
}

bool NcclHandle::end() noexcept {
  const std::lock_guard lock(state_mutex_);
  return !std::exchange(is_ended_, true);
}

ncclResult_t NcclHandle::ask() {
  const std::lock_guard lock(state_mutex_);
  if (is_ended_) return ncclInvalidUsage;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = library_.table.ncclCommGetAsyncError(communicator_, &state);
  return asked == ncclSuccess ? state : asked;
}

std::string NcclHandle::describe(ncclResult_t result) {
  const std::lock_guard lock(state_mutex_);
  return is_ended_ ? "the communicator was aborted" : library_.describe(result, communicator_);
}

std::string NcclHandle::settle(ncclResult_t result, std::string_view call, Deadline deadline,
                               const std::string& late) {
  while (result == ncclInProgress) {
    if (steady_clock::now() >= deadline) return late;
    std::this_thread::sleep_for(kSettleSleep);
    result = ask();
  }
  if (result == ncclSuccess) return "";
  return fmt::format("{} failed: {}", call, describe(result));
}

std::string NcclHandle::find_error() {
  const ncclResult_t result = ask();
  return result == ncclSuccess || result == ncclInProgress ? "" : describe(result);
}

void NcclHandle::run_apart(std::function<void()> work) noexcept {
  try {
    const auto progress = std::make_shared<Progress>();
    std::thread([self = shared_from_this(), progress, work] {
      const CurrentContextNoThrow current(self->device_);
      work();
      progress->finish();
    }).detach();
    progress->wait();
  } catch (...) {  // there is no memory or no thread
    const CurrentContextNoThrow current(device_);
    work();
  }
}

void NcclHandle::abort(bool holds_use) noexcept {
  if (!end()) return;
  run_apart([this, holds_use] {
    // Lets a call of another thread end. Later calls see that the communicator has failed.
    if (!holds_use && use_.try_lock_for(kPatience)) use_.unlock();
    library_.table.ncclCommAbort(communicator_);
  });
}

void NcclHandle::release(std::chrono::milliseconds timeout) noexcept {
  if (!is_owned_) return void(end());
  run_apart([this, deadline = steady_clock::now() + timeout] {
    {
      const std::lock_guard lock(state_mutex_);
      if (is_ended_) return;
    }
    std::string problem;
    try {
      problem = settle(library_.table.ncclCommFinalize(communicator_), "ncclCommFinalize", deadline,
                       "late");
    } catch (...) {
      problem = "no memory";  // short enough to need no allocation
    }
    if (!end()) return;
    if (problem.empty())
      library_.table.ncclCommDestroy(communicator_);
    else
      library_.table.ncclCommAbort(communicator_);
  });
}

}  // namespace sinter
