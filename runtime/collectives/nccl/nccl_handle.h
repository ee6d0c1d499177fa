// NcclHandle: a communicator of NCCL, and the calls that wait for it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "runtime/collectives/nccl/nccl.h"

namespace sinter {

/// Only abort() may run beside other calls. The context of the device must be current.
class NcclHandle {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  NcclHandle(const Nccl& library, nccl::ncclComm_t communicator, bool is_owned)
      : library_(library), communicator_(communicator), is_owned_(is_owned) {}
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  const Nccl& library() const { return library_; }
  nccl::ncclComm_t get() const { return communicator_; }

  /// Waits until NCCL has completed a call with this result. Returns why it failed; empty if it is
  /// complete. `call` names the function. Returns `late` if it does not complete in time.
  std::string settle(nccl::ncclResult_t result, std::string_view call, Deadline deadline,
                     const std::string& late) const;
  /// The error of work that was put on a stream before; empty if there is none.
  std::string find_error() const;
  /// Ends all its work on the device at once. The first call counts.
  void abort() noexcept;
  /// Destroys the communicator if it is owned and was not aborted.
  void release() noexcept;

 private:
  const Nccl& library_;
  nccl::ncclComm_t communicator_;
  const bool is_owned_;
  std::atomic<bool> is_aborted_ = false;
};

/// The reason of a collective that has waited for longer than `timeout`.
std::string late_text(std::chrono::milliseconds timeout);

}  // namespace sinter
