// Functions for tests that NCCL lacks: misuse, errors, and the calls of a rank.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/virtual_gpu/nccl/communicator.h"

namespace sinter::nccl_double {

#pragma GCC visibility push(default)
extern "C" {

/// The misuses of the API since the last call; empty if there are none.
const char* ncclDoubleViolations() {
  static thread_local std::string text;
  const std::lock_guard lock(state().mutex);
  text = std::exchange(state().violations, {});
  return text.c_str();
}

/// Live communicators of this rank get an asynchronous error.
void ncclDoubleFail(int rank, int result, const char* text) {
  const std::lock_guard lock(state().mutex);
  for (const nccl::ncclComm_t one : state().communicators)
    if (one->rank == rank && !one->is_gone()) {
      one->error = static_cast<nccl::ncclResult_t>(result);
      one->last_error = text;
    }
}

/// How many communicators were not destroyed or aborted.
int ncclDoubleLive() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(std::ranges::count_if(
      state().communicators, [](const nccl::ncclComm* one) { return !one->is_gone(); }));
}

/// How many communicators were aborted.
int ncclDoubleAborted() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(
      std::ranges::count(state().communicators, true, [](const nccl::ncclComm* one) {
        return one->is_aborted;
      }));
}

/// The calls of the newest communicator of this rank, one per line.
const char* ncclDoubleCalls(int rank) {
  static thread_local std::string text;
  const std::lock_guard lock(state().mutex);
  text.clear();
  for (const nccl::ncclComm* const one : state().communicators)
    if (one->rank == rank) text = fmt::format("{}", fmt::join(one->calls, "\n"));
  return text.c_str();
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::nccl_double
