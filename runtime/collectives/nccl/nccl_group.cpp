#include "runtime/collectives/nccl/nccl_group.h"

#include <fmt/format.h>

#include "runtime/collectives/collective_text.h"
#include "runtime/libraries/cuda/on_device.h"
#include "runtime/support/fork_guard.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using std::chrono::steady_clock;

std::string forked_message() { return fmt::format("NCCL: {}", kForkedError); }

}  // namespace

NcclGroup::NcclGroup(std::shared_ptr<NcclHandle> handle, const NcclRank& own,
                     std::chrono::milliseconds timeout)
    : own_(own),
      device_(*cuda_device(own.device).state()),
      timeout_(timeout),
      handle_(std::move(handle)),
      watch_(std::make_unique<NcclWatch>(
          device_, timeout,
          NcclWatch::Observer{.find_error = [this] { return find_error(); },
                              .fail = [this](const std::string& what, const std::string& why) {
                                fail(what, why, /*holds_use=*/false);
                              }})) {}

std::shared_ptr<NcclGroup> NcclGroup::create(std::shared_ptr<NcclHandle> handle,
                                             const NcclRank& own,
                                             std::chrono::milliseconds timeout) {
  const auto destroy = [](NcclGroup* group) {
    if (!is_forked()) delete group;
  };
  return std::shared_ptr<NcclGroup>(new NcclGroup(std::move(handle), own, timeout), destroy);
}

NcclGroup::~NcclGroup() {
  watch_.reset();
  handle_->release(timeout_);
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
  const std::lock_guard lock(handle_->use());
  throw_if_failed();
  const auto what = std::make_shared<const std::string>(describe(call));
  const auto deadline = steady_clock::now() + timeout_;
  const nccl::ncclResult_t result =
      put_on_stream(handle_->library(), device_.driver, handle_->get(), call, own_);
  const std::string why = handle_->settle(result, "NCCL", deadline, late_text(timeout_));
  if (!why.empty()) {
    fail(*what, why, /*holds_use=*/true);
    throw_if_failed();
  }
  const auto stream = static_cast<CUstream>(call.stream);
  if (!is_captured(stream)) watch_->add(stream, what);
}

void NcclGroup::replay(const CollectiveReplay& replay) {
  throw_if_failed();
  const std::lock_guard lock(handle_->use());
  // The kernels of an aborted communicator use memory that it has freed.
  throw_if_failed();
  replay.launch();
  watch_->add(static_cast<CUstream>(replay.stream), replay.collectives);
}

void NcclGroup::fail(const std::string& what, const std::string& why, bool holds_use) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_.empty()) return;
    failure_ = fmt::format("NCCL {}: {}: rank {} of {}: {}", handle_->library().version_text(),
                           what, own_.rank, own_.size, why);
  }
  handle_->abort(holds_use);
}

std::string NcclGroup::find_error() {
  const std::unique_lock lock(handle_->use(), std::try_to_lock);
  if (!lock.owns_lock()) return "";
  {
    const std::lock_guard failure_lock(failure_mutex_);
    if (!failure_.empty()) return "";  // the communicator is gone
  }
  return handle_->find_error();
}

std::string NcclGroup::failure() {
  if (is_forked()) return forked_message();
  // The thread does not watch launches of graphs that the program has captured.
  if (const std::string why = find_error(); !why.empty()) {
    const std::shared_ptr<const std::string> what = watch_->first();
    fail(what ? *what : "a collective", why, /*holds_use=*/false);
  }
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace sinter
