// Waiting for operations of MPI without keeping a processor busy, and never forever.
#pragma once

#include <atomic>
#include <chrono>
#include <span>
#include <string_view>

#include <mpi.h>

namespace sinter {

struct MpiWait {
  std::chrono::steady_clock::time_point deadline;
  /// The wait ends `grace` after this becomes true; may be null.
  const std::atomic<bool>* is_stopping = nullptr;
  std::chrono::milliseconds grace{0};
};

enum class MpiWaitResult { done, timed_out, stopped };

/// Waits until all `requests` are complete. They remain active unless the result is `done`. Throws
/// UserError if one fails; `call` is the function of MPI that started it.
MpiWaitResult wait_for_mpi(std::span<MPI_Request> requests, std::string_view call,
                           const MpiWait& wait);

}  // namespace sinter
