// The engine of Communicator::mpi.
#include <memory>

#include <fmt/format.h>

#include "runtime/collectives/timeout.h"
#include "runtime/mpi/mpi_group.h"
#include "runtime/mpi/mpi_library.h"
#include "runtime/mpi/returned_errors.h"
#include "sinter/communicator.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class MpiEngine final : public CommunicatorEngine {
 public:
  explicit MpiEngine(std::shared_ptr<MpiGroup> group) : group_(std::move(group)) {}

  std::string_view name() const override { return "MPI"; }
  int rank() const override { return group_->own().rank; }
  int size() const override { return group_->own().size; }
  std::string failure() const override { return group_->failure(); }
  void check(const CollectiveCall& call) const override { check_exchange(call, group_->own()); }
  void enqueue(const CollectiveCall& call) override;

 private:
  const std::shared_ptr<MpiGroup> group_;
};

/// Two pieces of host work: the first does not wait, so that work of other streams runs meanwhile.
/// A replayed CUDA Graph runs them again, one replay after another.
void MpiEngine::enqueue(const CollectiveCall& call) {
  check(call);
  group_->check_usable();
  if (call.elements == 0) return;
  const auto ticket = std::make_shared<std::int64_t>(0);
  call.on_host([group = group_, collective = mpi_collective(call), ticket] {
    *ticket = group->start(collective);
  });
  call.on_host([group = group_, ticket] { group->finish(*ticket); });
}

void check_communicator(MPI_Comm communicator) {
  int is_inter = 0;
  if (communicator != MPI_COMM_NULL)
    check_mpi(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter");
  if (communicator == MPI_COMM_NULL || is_inter)
    throw UserError(
        fmt::format("Communicator::mpi: the communicator is {}; pass one that connects "
                    "the ranks of one group",
                    is_inter ? "an inter-communicator" : "MPI_COMM_NULL"));
}

/// A copy of `communicator`, whose messages no other code can receive.
MPI_Comm duplicate(MPI_Comm communicator, std::chrono::milliseconds timeout) {
  // MPI writes to both after a failure, too.
  auto copy = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Comm_idup(communicator, copy.get(), &request), "MPI_Comm_idup");
  const MpiWait limits{.deadline = std::chrono::steady_clock::now() + timeout};
  if (wait_for_mpi({&request, 1}, "MPI_Comm_idup", limits) != MpiWaitResult::done) {
    static_cast<void>(copy.release());
    never_finalize_mpi();
    throw UserError(
        fmt::format("Communicator::mpi: waited longer than {} ms for the other ranks; all ranks "
                    "must call it together. MpiOptions::timeout is the limit",
                    timeout.count()));
  }
  check_mpi(MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return *copy;
}

}  // namespace

Communicator Communicator::mpi(const MpiOptions& options) {
  start_mpi();
  const MPI_Comm all = MPI_COMM_WORLD;
  return mpi(&all, options);
}

Communicator Communicator::mpi(const void* communicator, const MpiOptions& options) {
  if (!communicator)
    throw UserError("Communicator::mpi: the pointer to an MPI_Comm is null; pass &communicator");
  const std::chrono::milliseconds timeout =
      checked_timeout("Communicator::mpi", options.timeout);
  start_mpi();
  // MPI reports an invalid communicator as an error of one of these two.
  const ReturnedErrors of_world(MPI_COMM_WORLD), of_self(MPI_COMM_SELF);
  const MPI_Comm given = *static_cast<const MPI_Comm*>(communicator);
  check_communicator(given);
  const ReturnedErrors of_given(given);
  return Communicator(std::make_shared<MpiEngine>(
      MpiGroup::create(duplicate(given, timeout), timeout)));
}

}  // namespace sinter
