// A double of a communicator: the ranks are threads of one process, each with a host device.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sinter/communicator.h"

namespace sinter::test {

/// One collective that the ranks of a group carried out.
struct CarriedCollective {
  Collective kind = Collective::all_reduce;
  std::int64_t elements = 0;  ///< of each rank's operand
  RankReduction reduction = RankReduction::sum;
  std::string place;
  friend bool operator==(const CarriedCollective&, const CarriedCollective&) = default;
};

/// The ranks of a group. It reduces in the order of the ranks, and rounds after each of them.
class ThreadGroup : public std::enable_shared_from_this<ThreadGroup> {
 public:
  static std::shared_ptr<ThreadGroup> of(int size) {
    return std::shared_ptr<ThreadGroup>(new ThreadGroup(size));
  }
  Communicator communicator(int rank);
  /// In order. Call it after the ranks have ended.
  const std::vector<CarriedCollective>& carried() const { return carried_; }

 private:
  friend class ThreadEngine;
  explicit ThreadGroup(int size) : calls_(static_cast<std::size_t>(size)) {}
  /// Waits for the calls of all ranks, which the last one carries out. Throws UserError if a rank
  /// does not arrive within seconds, or if the calls differ.
  void meet(int rank, const CollectiveCall& call);
  void carry_out();
  std::string failure();

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<const CollectiveCall*> calls_;  ///< by rank
  std::size_t arrivals_ = 0;
  std::uint64_t round_ = 0;
  std::string failure_;
  std::vector<CarriedCollective> carried_;
};

/// Runs `body(rank)` in one thread per rank, and rethrows the first exception.
void on_every_rank(int size, const std::function<void(int rank)>& body);
/// Runs `body(rank, communicator)` in one thread per rank, and rethrows the first exception.
void on_every_rank(const std::shared_ptr<ThreadGroup>& group, int size,
                   const std::function<void(int rank, const Communicator& communicator)>& body);

}  // namespace sinter::test
