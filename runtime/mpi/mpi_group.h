// A rank of a group of processes, and the thread that carries out its collectives.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/mpi/agreement.h"
#include "runtime/mpi/exchange.h"
#include "runtime/mpi/mpi_wait.h"
#include "runtime/mpi/rank_call.h"

namespace sinter {

/// Carries out collectives one after another, in the order of `start`. After a failure it is
/// broken: later collectives fail with the same message. Threads may share it.
class MpiGroup {
 public:
  /// Takes the communicator, which belongs to it alone. A forked child never destroys the group.
  static std::shared_ptr<MpiGroup> create(MPI_Comm communicator, std::chrono::milliseconds timeout);
  /// Collectives that have not met their counterparts on all ranks are given up.
  ~MpiGroup();
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;

  const MpiRank& own() const { return own_; }

  /// Queues a collective and returns its ticket. Never throws because of earlier failures.
  std::int64_t start(std::shared_ptr<const MpiCollective> collective);
  /// Waits until the collective of the ticket is complete. Throws UserError if it failed.
  void finish(std::int64_t ticket);
  /// Throws UserError if the group can carry out no more collectives.
  void check_usable() const;
  /// Why a collective has failed; empty if none has.
  std::string failure() const;

 private:
  MpiGroup(MPI_Comm communicator, std::chrono::milliseconds timeout);

  struct Item {
    std::int64_t ticket = 0;
    std::shared_ptr<const MpiCollective> collective;
  };

  /// Starts the thread.
  void begin();
  void work();
  /// Waits for the next collective; nullptr at the end. Lets MPI deliver messages meanwhile.
  std::shared_ptr<const MpiCollective> next();
  /// Returns why the ranks' calls do not match; empty if it has carried them out.
  std::string carry_out(const MpiCollective& collective, std::int64_t number);
  void wait(std::span<MPI_Request> requests, std::string_view call, const MpiWait& limits) const;
  void fail(std::string why);
  /// Keeps the memory of an operation of MPI that is not complete.
  void abandon_operation();
  /// Ends the thread. `why`, a literal, becomes the failure of pending collectives.
  void end(std::string_view why);
  void release_communicator();

  const MpiRank own_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<Agreement> agreement_;
  std::atomic<bool> is_stopping_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;  // the first one may be running
  std::int64_t started_ = 0;
  std::int64_t completed_ = 0;
  std::string_view end_reason_;
  std::string failure_;

  std::mutex end_mutex_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace sinter
