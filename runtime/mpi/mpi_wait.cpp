#include "runtime/mpi/mpi_wait.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include "runtime/mpi/mpi_library.h"

namespace sinter {

namespace {

/// A wait polls for so long before it sleeps between polls, so that other threads compute.
constexpr std::chrono::microseconds kBusy{50};
constexpr std::chrono::microseconds kSleep{20};
/// A poll that computes for longer has moved or combined data, so there may be more.
constexpr std::chrono::microseconds kIdlePoll{5};

/// Without the time in which other threads used the processor: MPI may yield it.
std::chrono::nanoseconds time_on_processor() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool are_complete(std::span<MPI_Request> requests, std::string_view call) {
  bool complete = true;
  for (MPI_Request& request : requests) {
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), call);
    if (!flag) complete = false;
  }
  return complete;
}

}  // namespace

MpiWaitResult wait_for_mpi(std::span<MPI_Request> requests, std::string_view call,
                           const MpiWait& wait) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point busy_until = Clock::now() + kBusy;
  std::chrono::nanoseconds before_poll = time_on_processor();
  Clock::time_point deadline = wait.deadline;
  bool was_stopped = false;
  while (!are_complete(requests, call)) {
    const Clock::time_point now = Clock::now();
    if (!was_stopped && wait.is_stopping && *wait.is_stopping) {
      was_stopped = true;
      deadline = std::min(deadline, now + wait.grace);
    }
    if (now >= deadline) return was_stopped ? MpiWaitResult::stopped : MpiWaitResult::timed_out;
    if (time_on_processor() - before_poll > kIdlePoll) busy_until = now + kBusy;
    if (now > busy_until) std::this_thread::sleep_for(kSleep);
    before_poll = time_on_processor();
  }
  return MpiWaitResult::done;
}

}  // namespace sinter
