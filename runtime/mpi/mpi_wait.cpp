#include "runtime/mpi/mpi_wait.h"

#include <algorithm>
#include <thread>

#include "runtime/mpi/mpi_library.h"

namespace sinter {

namespace {

constexpr std::chrono::microseconds kSleep{30};

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
  const Clock::time_point busy_until = Clock::now() + wait.busy;
  Clock::time_point deadline = wait.deadline;
  bool was_stopped = false;
  while (!are_complete(requests, call)) {
    const Clock::time_point now = Clock::now();
    if (!was_stopped && wait.is_stopping && *wait.is_stopping) {
      was_stopped = true;
      deadline = std::min(deadline, now + wait.grace);
    }
    if (now >= deadline) return was_stopped ? MpiWaitResult::stopped : MpiWaitResult::timed_out;
    if (now < busy_until)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kSleep);
  }
  return MpiWaitResult::done;
}

}  // namespace sinter
