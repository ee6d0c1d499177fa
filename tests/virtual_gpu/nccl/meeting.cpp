// How the streams of several ranks meet. The last rank to arrive carries out a collective for all.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "tests/support/doubles/host_exchange.h"
#include "tests/virtual_gpu/nccl/communicator.h"

namespace sinter::nccl_double {

namespace {

using namespace nccl;

/// The results of an aborted collective.
constexpr int kUndefined = 0xab;

/// The ranks do not fit together. Real ranks would hang or give wrong results.
void fail_all(const Clique& clique, const std::string& why) {
  for (ncclComm* const one : clique.ranks) {
    one->error = ncclInvalidUsage;
    one->last_error = why;
  }
}

void arrive_at_collective(Meeting& meeting) {
  Clique& clique = *meeting.communicator->clique;
  const int rank = meeting.communicator->rank;
  Meeting*& place = clique.arrived[static_cast<std::size_t>(rank)];
  if (place) state().violate(fmt::format("rank {} runs two collectives at once", rank));
  place = &meeting;
  if (std::ranges::count(clique.arrived, nullptr) > 0) return;
  std::vector<const CollectiveCall*> calls;
  for (const Meeting* const one : clique.arrived) calls.push_back(&one->collective);
  if (const CollectiveCall* const other = test::find_mismatch(calls)) {
    fail_all(clique, fmt::format("the ranks differ: {} and {} elements", calls[0]->elements,
                                 other->elements));
    return;
  }
  test::exchange_on_host(calls);
  for (Meeting*& one : clique.arrived) {
    one->is_done = true;
    one = nullptr;
  }
}

/// Moves the bytes if the other side has arrived; otherwise waits for it.
void arrive_at_transfer(Transfer& own, std::deque<Transfer*>& others, std::deque<Transfer*>& queue,
                        bool sends, const Clique& clique) {
  own.is_done = false;
  if (others.empty()) {
    queue.push_back(&own);
    return;
  }
  Transfer& other = *others.front();
  others.pop_front();
  if (own.bytes != other.bytes)
    return fail_all(clique, fmt::format("a rank sends {} bytes and another one receives {}",
                                        sends ? own.bytes : other.bytes,
                                        sends ? other.bytes : own.bytes));
  const Transfer& from = sends ? own : other;
  const Transfer& to = sends ? other : own;
  std::memcpy(to.staging, from.staging, from.bytes);
  own.is_done = other.is_done = true;
}

void arrive_at_transfers(Meeting& meeting) {
  Clique& clique = *meeting.communicator->clique;
  const int rank = meeting.communicator->rank;
  for (Transfer& send : meeting.sends)
    arrive_at_transfer(send, clique.receives[{rank, send.peer}], clique.sends[{rank, send.peer}],
                       true, clique);
  for (Transfer& receive : meeting.receives)
    arrive_at_transfer(receive, clique.sends[{receive.peer, rank}],
                       clique.receives[{receive.peer, rank}], false, clique);
}

bool are_transfers_done(const Meeting& meeting) {
  return std::ranges::all_of(meeting.sends, &Transfer::is_done) &&
         std::ranges::all_of(meeting.receives, &Transfer::is_done);
}

/// An aborted rank arrives at nothing any more.
void leave(Meeting& meeting) {
  Clique& clique = *meeting.communicator->clique;
  std::ranges::replace(clique.arrived, &meeting, nullptr);
  const auto erase = [&](auto& queues, std::vector<Transfer>& own) {
    for (auto& [ranks, queue] : queues)
      std::erase_if(queue, [&](const Transfer* one) {
        return std::ranges::any_of(own, [&](const Transfer& mine) { return &mine == one; });
      });
  };
  erase(clique.sends, meeting.sends);
  erase(clique.receives, meeting.receives);
}

}  // namespace

void State::violate(std::string_view what) {
  std::fprintf(stderr, "NCCL double: %.*s\n", static_cast<int>(what.size()), what.data());
  violations += fmt::format("{}{}", violations.empty() ? "" : "; ", what);
}

State& state() {
  static auto& only = *new State;  // never destroyed, because streams may still run
  return only;
}

int is_ready(void* data) {
  auto& meeting = *static_cast<Meeting*>(data);
  const std::lock_guard lock(state().mutex);
  if (meeting.communicator->is_aborted) return 1;
  if (!meeting.has_arrived) {
    if (meeting.communicator->is_destroyed)
      state().violate("a stream runs a collective of a destroyed communicator");
    meeting.has_arrived = true;
    meeting.is_done = false;
    if (meeting.is_collective)
      arrive_at_collective(meeting);
    else
      arrive_at_transfers(meeting);
  }
  return meeting.is_collective ? meeting.is_done : are_transfers_done(meeting);
}

void run(void* data) {
  auto& meeting = *static_cast<Meeting*>(data);
  const std::lock_guard lock(state().mutex);
  meeting.has_arrived = false;
  if (!meeting.communicator->is_aborted) return;
  leave(meeting);
  if (meeting.is_collective)
    std::memset(meeting.collective.output, kUndefined, meeting.output_bytes);
  for (const Transfer& receive : meeting.receives)
    std::memset(receive.staging, kUndefined, receive.bytes);
}

}  // namespace sinter::nccl_double
