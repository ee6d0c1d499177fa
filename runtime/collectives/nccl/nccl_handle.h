// NcclHandle: a communicator of NCCL, and the calls that wait for it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/collectives/nccl/nccl.h"
#include "runtime/device/device_state.h"

namespace sinter {

/// Threads may share it. While a CUDA Graph with operations of a communicator lives, NCCL does not
/// return from ncclCommAbort and ncclCommDestroy. So threads of their own call these, which keep
/// the handle alive.
class NcclHandle : public std::enable_shared_from_this<NcclHandle> {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  static std::shared_ptr<NcclHandle> create(const Nccl& library, const DeviceState& device,
                                            nccl::ncclComm_t communicator, bool is_owned) {
    return std::shared_ptr<NcclHandle>(new NcclHandle(library, device, communicator, is_owned));
  }
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  const Nccl& library() const { return library_; }
  nccl::ncclComm_t get() const { return communicator_; }
  /// Held while NCCL or a launch uses the communicator. A replay may enqueue further calls.
  std::recursive_timed_mutex& use() { return use_; }

  /// Waits until NCCL has completed a call with this result. Returns why it failed; empty if it is
  /// complete. `call` names the function. Returns `late` if it does not complete in time.
  std::string settle(nccl::ncclResult_t result, std::string_view call, Deadline deadline,
                     const std::string& late);
  /// The error of work that was put on a stream before; empty if there is none.
  std::string find_error();
  /// Ends all its work on the device. Waits for the end of that for a short time. The first call of
  /// abort() and release() counts. `holds_use`: the caller holds use().
  void abort(bool holds_use) noexcept;
  /// Destroys the communicator if it is owned, or aborts it if the other ranks do not end theirs
  /// within `timeout`. Waits for that for a short time.
  void release(std::chrono::milliseconds timeout) noexcept;

 private:
  NcclHandle(const Nccl& library, const DeviceState& device, nccl::ncclComm_t communicator,
             bool is_owned)
      : library_(library), device_(device), communicator_(communicator), is_owned_(is_owned) {}

  /// True for the first call: from now on NCCL is asked nothing more.
  bool end() noexcept;
  /// The state of the communicator; an error once it is ended.
  nccl::ncclResult_t ask();
  std::string describe(nccl::ncclResult_t result);
  /// Runs `work` on a thread of its own, with the context of the device. Waits for it for a short
  /// time.
  void run_apart(std::function<void()> work) noexcept;

  const Nccl& library_;
  const DeviceState& device_;
  const nccl::ncclComm_t communicator_;
  const bool is_owned_;
  std::recursive_timed_mutex use_;
  std::mutex state_mutex_;  ///< held while NCCL is asked for the state
  bool is_ended_ = false;
};

/// The reason of a collective that has waited for longer than `timeout`.
std::string late_text(std::chrono::milliseconds timeout);

}  // namespace sinter
