#include "runtime/collectives/nccl/nccl_handle.h"

#include <thread>

#include <fmt/format.h>

namespace sinter {

namespace {

using namespace nccl;
using std::chrono::steady_clock;

constexpr std::chrono::microseconds kSettleSleep{200};
/// How long the end of a communicator may take before it is aborted.
constexpr std::chrono::seconds kFinalizeLimit{10};

}  // namespace

std::string late_text(std::chrono::milliseconds timeout) {
  return fmt::format(
      "it waited longer than {} ms for the other ranks, of which one has ended, is late or runs "
      "other collectives; raise NcclOptions::timeout if ranks may be so late",
      timeout.count());
}

std::string NcclHandle::settle(ncclResult_t result, std::string_view call, Deadline deadline,
                               const std::string& late) const {
  while (result == ncclInProgress) {
    if (steady_clock::now() >= deadline) return late;
    std::this_thread::sleep_for(kSettleSleep);
    if (is_aborted_) return fmt::format("{} was aborted", call);
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = library_.table.ncclCommGetAsyncError(communicator_, &state);
    result = asked == ncclSuccess ? state : asked;
  }
  if (result == ncclSuccess) return "";
  return fmt::format("{} failed: {}", call, library_.describe(result, communicator_));
}

std::string NcclHandle::find_error() const {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = library_.table.ncclCommGetAsyncError(communicator_, &state);
  const ncclResult_t result = asked == ncclSuccess ? state : asked;
  if (result == ncclSuccess || result == ncclInProgress) return "";
  return library_.describe(result, communicator_);
}

void NcclHandle::abort() noexcept {
  if (is_aborted_.exchange(true)) return;
  library_.table.ncclCommAbort(communicator_);
}

void NcclHandle::release() noexcept {
  if (is_aborted_ || !is_owned_) return;
  const Deadline deadline = steady_clock::now() + kFinalizeLimit;
  std::string problem;
  try {
    problem = settle(library_.table.ncclCommFinalize(communicator_), "ncclCommFinalize", deadline,
                     "late");
  } catch (...) {
    problem = "no memory";  // short enough to need no allocation
  }
  if (!problem.empty()) return abort();
  is_aborted_ = true;
  library_.table.ncclCommDestroy(communicator_);
}

}  // namespace sinter
