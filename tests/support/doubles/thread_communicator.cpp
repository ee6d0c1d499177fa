#include "tests/support/doubles/thread_communicator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "ir/types/element.h"
#include "sinter/error.h"

namespace sinter::test {

namespace {

std::byte* at(const void* base, std::int64_t bytes) {
  return static_cast<std::byte*>(const_cast<void*>(base)) + bytes;
}

template <class Value>
Value combined(RankReduction reduction, Value a, Value b) {
  switch (reduction) {
    case RankReduction::sum: return a + b;
    case RankReduction::prod: return a * b;
    case RankReduction::max: return std::max(a, b);
    default: return std::min(a, b);
  }
}

/// Adds `count` elements at `from` to those at `to`.
void accumulate(const CollectiveCall& call, std::byte* to, const std::byte* from,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += size_of(call.dtype), from += size_of(call.dtype))
    if (is_floating(call.dtype))
      write_real(call.dtype, to,
                 combined<long double>(call.reduction, read_real(call.dtype, to),
                                       read_real(call.dtype, from)));
    else
      write_integer(call.dtype, to,
                    combined<Wide>(call.reduction, from_storage_bits(call.dtype, read_integer(call.dtype, to)),
                                   from_storage_bits(call.dtype, read_integer(call.dtype, from))));
}

}  // namespace

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
  const auto ranks = std::ssize(calls_);
  const std::int64_t bytes = first.elements * size_of(first.dtype);
  for (const CollectiveCall* call : calls_)
    if (call->kind != first.kind || call->elements != first.elements || call->dtype != first.dtype)
      failure_ = fmt::format("the ranks differ: {} and {}", first.place, call->place);
  if (!failure_.empty()) return;
  carried_.push_back(
      {.kind = first.kind, .elements = first.elements, .place = std::string(first.place)});
  const auto reduce_into = [&](std::byte* to, std::int64_t begin, std::int64_t count) {
    const std::int64_t size = size_of(first.dtype);
    std::memcpy(to, at(first.input, begin * size), static_cast<std::size_t>(count * size));
    for (std::int64_t rank = 1; rank < ranks; ++rank)
      accumulate(first, to, at(calls_[static_cast<std::size_t>(rank)]->input, begin * size), count);
  };
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const CollectiveCall& own = *calls_[static_cast<std::size_t>(rank)];
    const auto copy = [&](std::int64_t to, const CollectiveCall& from, std::int64_t begin,
                          std::int64_t count) {
      std::memcpy(at(own.output, to), at(from.input, begin), static_cast<std::size_t>(count));
    };
    const std::int64_t part = first.elements / ranks;
    switch (first.kind) {
      case Collective::all_reduce: reduce_into(at(own.output, 0), 0, first.elements); break;
      case Collective::reduce_scatter: reduce_into(at(own.output, 0), rank * part, part); break;
      case Collective::reduce_to:
        if (rank == first.root)
          reduce_into(at(own.output, 0), 0, first.elements);
        else
          std::memset(own.output, 0, static_cast<std::size_t>(bytes));
        break;
      case Collective::broadcast:
        copy(0, *calls_[static_cast<std::size_t>(first.root)], 0, bytes);
        break;
      case Collective::all_gather:
        for (std::int64_t from = 0; from < ranks; ++from)
          copy(from * bytes, *calls_[static_cast<std::size_t>(from)], 0, bytes);
        break;
      case Collective::all_to_all:
        for (std::int64_t from = 0; from < ranks; ++from)
          copy(from * bytes / ranks, *calls_[static_cast<std::size_t>(from)], rank * bytes / ranks,
               bytes / ranks);
        break;
      case Collective::send_receive:
        if (own.source < 0)
          std::memset(own.output, 0, static_cast<std::size_t>(bytes));
        else
          copy(0, *calls_[static_cast<std::size_t>(own.source)], 0, bytes);
        break;
    }
  }
}

void on_every_rank(const std::shared_ptr<ThreadGroup>& group, int size,
                   const std::function<void(int rank, const Communicator& communicator)>& body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size; ++rank)
      ranks.emplace_back([&, rank] {
        try {
          body(rank, group->communicator(rank));
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace sinter::test
