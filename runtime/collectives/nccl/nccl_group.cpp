#include "runtime/collectives/nccl/nccl_group.h"

#include <fmt/format.h>

#include "runtime/collectives/collective_text.h"
#include "runtime/libraries/cuda/on_device.h"
#include "runtime/support/fork_guard.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using std::chrono::steady_clock;

/// How long an abort waits for a thread that uses the communicator. That thread may be blocked by
/// the work that the abort ends.
constexpr std::chrono::seconds kAbortPatience{2};

std::string forked_message() { return fmt::format("NCCL: {}", kForkedError); }

}  // namespace

NcclGroup::NcclGroup(const Nccl& library, nccl::ncclComm_t communicator, bool is_owned,
                     const NcclRank& own, std::chrono::milliseconds timeout)
    : own_(own),
      device_(*cuda_device(own.device).state()),
      timeout_(timeout),
      handle_(library, communicator, is_owned),
      watch_(std::make_unique<NcclWatch>(
          device_, timeout,
          NcclWatch::Observer{.find_error = [this] { return find_error(); },
                              .fail = [this](const std::string& what, const std::string& why) {
                                fail(what, why);
                              }})) {}

std::shared_ptr<NcclGroup> NcclGroup::create(const Nccl& library, nccl::ncclComm_t communicator,
                                             bool is_owned, const NcclRank& own,
                                             std::chrono::milliseconds timeout) {
  const auto destroy = [](NcclGroup* group) {
    if (!is_forked()) delete group;
  };
  return std::shared_ptr<NcclGroup>(new NcclGroup(library, communicator, is_owned, own, timeout),
                                    destroy);
}

NcclGroup::~NcclGroup() {
  watch_.reset();
  const CurrentContextNoThrow current(device_);
  const std::lock_guard lock(use_);
  handle_.release();
}

void NcclGroup::throw_if_failed() const {
  if (is_forked()) throw UserError(forked_message());
  const std::lock_guard lock(failure_mutex_);
  if (!failure_.empty()) throw UserError(failure_);
}

bool NcclGroup::is_captured(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(device_.driver, device_.driver.cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing",
        "a collective of NCCL");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void NcclGroup::enqueue(const CollectiveCall& call) {
  throw_if_failed();
  check_nccl_call(call, own_);
  if (call.elements == 0) return;
  const OnDevice current(own_.device);
  const std::lock_guard lock(use_);
  throw_if_failed();
  const auto what = std::make_shared<const std::string>(describe(call));
  const auto deadline = steady_clock::now() + timeout_;
  const nccl::ncclResult_t result =
      put_on_stream(handle_.library(), device_.driver, handle_.get(), call, own_);
  const std::string why = handle_.settle(result, "NCCL", deadline, late_text(timeout_));
  if (!why.empty()) {
    fail(*what, why);
    throw_if_failed();
  }
  const auto stream = static_cast<CUstream>(call.stream);
  if (!is_captured(stream)) watch_->add(stream, what);
}

void NcclGroup::replay(const CollectiveReplay& replay) {
  throw_if_failed();
  const std::lock_guard lock(use_);
  // The kernels of an aborted communicator use memory that it has freed.
  throw_if_failed();
  replay.launch();
  watch_->add(static_cast<CUstream>(replay.stream), replay.collectives);
}

void NcclGroup::fail(const std::string& what, const std::string& why) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_.empty()) return;
    failure_ = fmt::format("NCCL {}: {}: rank {} of {}: {}", handle_.library().version_text(), what,
                           own_.rank, own_.size, why);
  }
  const CurrentContextNoThrow current(device_);
  const bool is_ours = use_.try_lock_for(kAbortPatience);
  handle_.abort();
  if (is_ours) use_.unlock();
}

std::string NcclGroup::find_error() {
  const std::unique_lock lock(use_, std::try_to_lock);
  if (!lock.owns_lock()) return "";
  {
    const std::lock_guard failure_lock(failure_mutex_);
    if (!failure_.empty()) return "";  // the communicator is gone
  }
  return handle_.find_error();
}

std::string NcclGroup::failure() {
  if (is_forked()) return forked_message();
  // The thread does not watch launches of graphs that the program has captured.
  if (const std::string why = find_error(); !why.empty()) fail("a collective", why);
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace sinter
