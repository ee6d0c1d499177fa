// The engine of Communicator::nccl.
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "runtime/collectives/nccl/nccl_group.h"
#include "runtime/collectives/timeout.h"
#include "runtime/libraries/cuda/on_device.h"
#include "runtime/support/fork_guard.h"
#include "sinter/communicator.h"
#include "sinter/device.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kCall = "Communicator::nccl";

[[noreturn]] void fail_nccl(std::string_view what) {
  throw UserError(fmt::format("{}: {}", kCall, what));
}

class NcclEngine final : public CommunicatorEngine {
 public:
  explicit NcclEngine(std::shared_ptr<NcclGroup> group) : group_(std::move(group)) {}

  std::string_view name() const override { return "NCCL"; }
  int rank() const override { return group_->own().rank; }
  int size() const override { return group_->own().size; }
  void check(const CollectiveCall& call) const override { check_nccl_call(call, group_->own()); }
  void enqueue(const CollectiveCall& call) override { group_->enqueue(call); }
  void replay(const CollectiveReplay& replay) override { group_->replay(replay); }
  std::string failure() const override { return group_->failure(); }

 private:
  const std::shared_ptr<NcclGroup> group_;
};

/// Creates a communicator, for which all ranks wait. The context of the device must be current.
std::shared_ptr<NcclHandle> create_communicator(const Nccl& library, const NcclUniqueId& id,
                                     const NcclRank& own, milliseconds timeout) {
  nccl::ncclUniqueId name;
  static_assert(sizeof(name.internal) == sizeof(id.bytes));
  std::memcpy(name.internal, id.bytes.data(), sizeof(name.internal));
  // Calls that wait for other ranks return at once, so that a missing rank makes no thread hang.
  nccl::ncclConfig_t config;
  config.blocking = 0;
  nccl::ncclComm_t communicator = nullptr;
  const auto deadline = steady_clock::now() + timeout;
  const nccl::ncclResult_t result =
      library.table.ncclCommInitRankConfig(&communicator, own.size, name, own.rank, &config);
  auto handle = NcclHandle::create(library, *cuda_device(own.device).state(), communicator,
                                   /*is_owned=*/true);
  const std::string why =
      handle->settle(result, "ncclCommInitRankConfig", deadline, "a rank has not called it in time");
  if (why.empty()) return handle;
  if (communicator) handle->abort(/*holds_use=*/false);
  fail_nccl(fmt::format("rank {} of {} on cuda:{}: {}; all ranks must call it within {} ms "
                   "(NcclOptions::timeout), with the same id and each with another GPU",
                   own.rank, own.size, own.device, why, timeout.count()));
}

Communicator make_communicator(std::shared_ptr<NcclHandle> handle, const NcclRank& own,
                               milliseconds timeout) {
  return Communicator(
      std::make_shared<NcclEngine>(NcclGroup::create(std::move(handle), own, timeout)));
}

}  // namespace

NcclUniqueId nccl_unique_id() {
  const Nccl& library = require_nccl("nccl_unique_id");
  nccl::ncclUniqueId name;
  if (const nccl::ncclResult_t result = library.table.ncclGetUniqueId(&name); result != 0)
    throw UserError(fmt::format("nccl_unique_id: ncclGetUniqueId of NCCL {} failed: {}",
                                library.version_text(), library.describe(result, nullptr)));
  NcclUniqueId id;
  std::memcpy(id.bytes.data(), name.internal, sizeof(name.internal));
  return id;
}

Communicator Communicator::nccl(const NcclUniqueId& id, int rank, int size, const Device& device,
                                const NcclOptions& options) {
  if (is_forked()) fail_nccl(kForkedError);
  if (device.is_host())
    fail_nccl(fmt::format("{} is a host device, and NCCL needs a GPU; use Communicator::mpi for host "
                     "devices",
                     to_string(*device.state())));
  if (size < 1 || rank < 0 || rank >= size)
    fail_nccl(fmt::format("rank {} of {} does not exist; ranks are numbered from 0", rank, size));
  const milliseconds timeout = checked_timeout(kCall, options.timeout);
  const Nccl& library = require_nccl(kCall);
  const NcclRank own{.rank = rank, .size = size, .device = device.ordinal()};
  const OnDevice current(own.device);
  return make_communicator(create_communicator(library, id, own, timeout), own, timeout);
}

Communicator Communicator::nccl(void* communicator, const NcclOptions& options) {
  if (is_forked()) fail_nccl(kForkedError);
  if (!communicator) fail_nccl("the ncclComm_t is null");
  const milliseconds timeout = checked_timeout(kCall, options.timeout);
  const Nccl& library = require_nccl(kCall);
  const auto given = static_cast<nccl::ncclComm_t>(communicator);
  NcclRank own;
  const auto ask = [&](auto function, int& value, const char* call) {
    if (const nccl::ncclResult_t result = function(given, &value); result != 0)
      fail_nccl(fmt::format("{} failed: {}; pass an ncclComm_t of the same NCCL library, which is {}",
                       call, library.describe(result, nullptr), library.path));
  };
  ask(library.table.ncclCommUserRank, own.rank, "ncclCommUserRank");
  ask(library.table.ncclCommCount, own.size, "ncclCommCount");
  ask(library.table.ncclCommCuDevice, own.device, "ncclCommCuDevice");
  auto handle = NcclHandle::create(library, *cuda_device(own.device).state(), given,
                                   /*is_owned=*/false);
  return make_communicator(std::move(handle), own, timeout);
}

}  // namespace sinter
