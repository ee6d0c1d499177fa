#include "tests/support/doubles/thread_communicator.h"

#include <chrono>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "sinter/error.h"
#include "tests/support/doubles/host_exchange.h"

namespace sinter::test {

class ThreadEngine : public CommunicatorEngine {
 public:
  ThreadEngine(std::shared_ptr<ThreadGroup> group, int rank)
      : group_(std::move(group)), rank_(rank) {}
  std::string_view name() const override { return "threads"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->calls_.size()); }
  void check(const CollectiveCall& call) const override {
    if (call.dtype == c64) throw UserError("the double carries no c64");
  }
  std::string failure() const override { return group_->failure(); }
  void enqueue(const CollectiveCall& call) override {
    CollectiveCall own = call;
    own.on_host = {};
    call.on_host([this, own, place = std::string(call.place)]() mutable {
      own.place = place;
      group_->meet(rank_, own);
    });
  }

 private:
  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

Communicator ThreadGroup::communicator(int rank) {
  return Communicator(std::make_shared<ThreadEngine>(shared_from_this(), rank));
}

std::string ThreadGroup::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ThreadGroup::meet(int rank, const CollectiveCall& call) {
  std::unique_lock lock(mutex_);
  if (!failure_.empty()) throw UserError(failure_);
  calls_[static_cast<std::size_t>(rank)] = &call;
  if (++arrivals_ == calls_.size()) {
    carry_out();
    arrivals_ = 0;
    ++round_;
    arrived_.notify_all();
  } else {
    const std::uint64_t round = round_;
    if (!arrived_.wait_for(lock, std::chrono::seconds(30),
                           [&] { return round_ != round || !failure_.empty(); })) {
      failure_ = fmt::format("rank {} waited in vain for the others at {}", rank, call.place);
      arrived_.notify_all();
    }
  }
  if (!failure_.empty()) throw UserError(failure_);
}

void ThreadGroup::carry_out() {
  const CollectiveCall& first = *calls_[0];
  if (const CollectiveCall* const other = find_mismatch(calls_)) {
    failure_ = fmt::format("the ranks differ: {} and {}", first.place, other->place);
    return;
  }
  carried_.push_back({.kind = first.kind,
                      .elements = first.elements,
                      .reduction = first.reduction,
                      .place = std::string(first.place)});
  exchange_on_host(calls_);
}

void on_every_rank(int size, const std::function<void(int rank)>& body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size; ++rank)
      ranks.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

void on_every_rank(const std::shared_ptr<ThreadGroup>& group, int size,
                   const std::function<void(int rank, const Communicator& communicator)>& body) {
  on_every_rank(size, [&](int rank) { body(rank, group->communicator(rank)); });
}

}  // namespace sinter::test
