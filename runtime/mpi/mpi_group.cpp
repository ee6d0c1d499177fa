#include "runtime/mpi/mpi_group.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>

#include "runtime/mpi/mpi_library.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How long an exchange may take that is under way when the group ends.
constexpr milliseconds kExchangeGrace{10'000};
/// How often an idle thread lets MPI deliver messages to other ranks.
constexpr milliseconds kShortestIdle{1}, kLongestIdle{100};

constexpr std::string_view kForked =
    "MPI: this process was forked from a rank, and cannot exchange values; let mpirun start all "
    "ranks";

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of_group(MPI_Comm communicator) {
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  return size;
}

}  // namespace

MpiGroup::MpiGroup(MPI_Comm communicator, milliseconds timeout)
    : own_{.communicator = communicator,
           .rank = rank_in(communicator),
           .size = size_of_group(communicator)},
      timeout_(timeout),
      agreement_(std::make_unique<Agreement>(communicator, own_.size)) {}

std::shared_ptr<MpiGroup> MpiGroup::create(MPI_Comm communicator, milliseconds timeout) {
  // A child has the handles of the thread and of its locks, but not the thread.
  const auto destroy = [](MpiGroup* group) {
    if (!is_forked_from_mpi_process()) delete group;
  };
  const std::shared_ptr<MpiGroup> group(new MpiGroup(communicator, timeout), destroy);
  group->begin();
  return group;
}

void MpiGroup::begin() {
  // The thread comes last: nothing after it can throw.
  add_mpi_user(this, [this](std::string_view why) { end(why); });
  const std::lock_guard lock(end_mutex_);
  if (!has_ended_) thread_ = std::thread([this] { work(); });
}

MpiGroup::~MpiGroup() {
  end("its communicator was destroyed");
  forget_mpi_user(this);
}

std::int64_t MpiGroup::start(std::shared_ptr<const MpiCollective> collective) {
  if (is_forked_from_mpi_process()) return 0;
  std::int64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++started_;
    if (!failure_.empty() || is_stopping_) return ticket;
    queue_.push_back({.ticket = ticket, .collective = std::move(collective)});
  }
  changed_.notify_all();
  return ticket;
}

void MpiGroup::finish(std::int64_t ticket) {
  if (is_forked_from_mpi_process()) throw UserError(std::string(kForked));
  std::unique_lock lock(mutex_);
  const auto has_ended = [&] { return !failure_.empty() || (is_stopping_ && queue_.empty()); };
  changed_.wait(lock, [&] { return completed_ >= ticket || has_ended(); });
  if (ticket > 0 && completed_ >= ticket) return;
  throw UserError(failure_.empty() ? fmt::format("MPI: {}", end_reason_) : failure_);
}

void MpiGroup::check_usable() const {
  if (is_forked_from_mpi_process()) throw UserError(std::string(kForked));
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) throw UserError(failure_);
  if (is_stopping_) throw UserError(fmt::format("MPI: {}", end_reason_));
}

std::string MpiGroup::failure() const {
  if (is_forked_from_mpi_process()) return std::string(kForked);
  const std::lock_guard lock(mutex_);
  return failure_;
}

void MpiGroup::work() {
  prctl(PR_SET_NAME, "sinter MPI");
  prctl(PR_SET_TIMERSLACK, 1000);  // in ns, so that short sleeps are short
  while (const std::shared_ptr<const MpiCollective> collective = next()) {
    std::int64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = completed_ + 1;
    }
    try {
      if (std::string mismatch = carry_out(*collective, number); !mismatch.empty())
        return fail(std::move(mismatch));
    } catch (const std::exception& error) {
      abandon_operation();
      return fail(error.what());
    }
    {
      const std::lock_guard lock(mutex_);
      completed_ = queue_.front().ticket;
      queue_.pop_front();
    }
    changed_.notify_all();
  }
  if (!queue_.empty())
    fail(fmt::format("{}: rank {} of {}: it was not carried out, since {}",
                     describe_rank_call(rank_call(*queue_.front().collective)), own_.rank,
                     own_.size, end_reason_));
}

std::shared_ptr<const MpiCollective> MpiGroup::next() {
  // A rank that has its result may still have to pass on messages. MPI does so only in its calls.
  const steady_clock::time_point idle_since = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (queue_.empty() && !is_stopping_) {
    const auto idle =
        std::chrono::duration_cast<milliseconds>(steady_clock::now() - idle_since) / 8;
    if (changed_.wait_for(lock, std::clamp(idle, kShortestIdle, kLongestIdle)) ==
        std::cv_status::no_timeout)
      continue;
    lock.unlock();
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own_.communicator, &flag, MPI_STATUS_IGNORE);
    lock.lock();
  }
  return is_stopping_ ? nullptr : queue_.front().collective;
}

std::string MpiGroup::carry_out(const MpiCollective& collective, std::int64_t number) {
  MpiWait limits{.deadline = steady_clock::now() + timeout_, .is_stopping = &is_stopping_};
  const RankCall own = rank_call(collective);
  try {
    std::string mismatch =
        agreement_->compare(own, number, [&](MPI_Request request, std::string_view call) {
          wait({&request, 1}, call, limits);
        });
    if (!mismatch.empty()) return mismatch;
    limits.grace = kExchangeGrace;
    exchange(collective.call, own_, [&](std::span<MPI_Request> requests, std::string_view call) {
      wait(requests, call, limits);
    });
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: rank {} of {}: {}", describe_rank_call(own), own_.rank,
                                own_.size, error.what()));
  }
  return "";
}

void MpiGroup::wait(std::span<MPI_Request> requests, std::string_view call,
                    const MpiWait& limits) const {
  switch (wait_for_mpi(requests, call, limits)) {
    case MpiWaitResult::done: return;
    case MpiWaitResult::timed_out:
      throw UserError(fmt::format(
          "it waited longer than {} ms for the other ranks, of which one has ended, is "
          "late or runs fewer collectives; raise MpiOptions::timeout if ranks may be so "
          "late",
          timeout_.count()));
    case MpiWaitResult::stopped: break;
  }
  const std::lock_guard lock(mutex_);
  throw UserError(fmt::format("it stopped waiting for the other ranks, since {}", end_reason_));
}

void MpiGroup::abandon_operation() {
  never_finalize_mpi();
  static_cast<void>(agreement_.release());
}

void MpiGroup::fail(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(why);
  }
  changed_.notify_all();
}

void MpiGroup::end(std::string_view why) {
  const std::lock_guard ended(end_mutex_);
  if (std::exchange(has_ended_, true)) return;
  {
    const std::lock_guard lock(mutex_);
    end_reason_ = why;
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  release_communicator();
}

void MpiGroup::release_communicator() {
  if (!failure().empty() || is_mpi_finalized()) return;
  MPI_Comm communicator = own_.communicator;
  MPI_Comm_free(&communicator);
}

}  // namespace sinter
