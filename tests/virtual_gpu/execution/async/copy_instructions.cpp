// cp.async: copies of 4, 8 or 16 bytes, and groups of copies.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/agents.h"
#include "tests/virtual_gpu/execution/async/complete_copies.h"
#include "tests/virtual_gpu/execution/async/mbarriers.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

using handlers::AsyncFlags;

namespace {

/// The bytes that the lane's copy takes from the source.
std::uint32_t source_bytes(const Warp& warp, const Operation& operation, int lane) {
  const auto size = static_cast<std::uint32_t>(details_of(operation).bytes);
  if (operation.operands[1] != kNoSlot) {
    Mask ignored;
    std::memcpy(&ignored, warp.source(operation.operands[1]), sizeof ignored);
    if (operation.negated_operands & 2) ignored = ~ignored;
    return (ignored >> lane) & 1 ? 0 : size;
  }
  if (operation.operands[0] == kNoSlot) return size;
  std::uint32_t bytes;
  std::memcpy(&bytes, warp.source(operation.operands[0]) + lane * 4, sizeof bytes);
  if (bytes > size)
    fail(warp, operation, lane, CheckKind::arithmetic,
         fmt::format("the size of the source is {}, but the copy has {} bytes", bytes, size));
  return bytes;
}

/// Forgets copies that a later arrival need not track: those that are done and that the thread
/// knows.
void forget_known(ActiveLaunch& launch, const Warp& warp, int lane, CopyList& copies) {
  std::erase_if(copies, [&](const std::shared_ptr<AsyncCopy>& copy) {
    return copy->is_done &&
           (!copy->writer || launch.order->is_before(copy->written, clock_of(warp, lane)));
  });
}

/// The places of the source and the destination.
struct CopiedPlaces {
  Place source, target;
};

CopiedPlaces copy_lane(const Warp& warp, const Operation& operation, int lane, std::uint64_t to,
                       std::uint64_t from) {
  Block& block = *warp.block;
  ActiveLaunch& launch = *block.launch;
  const int size = details_of(operation).bytes;
  const std::uint32_t copied = source_bytes(warp, operation, lane);
  const Place target = resolve(warp, operation, lane, Space::shared, to, size, size);
  check_no_mbarrier(warp, operation, lane, target, static_cast<std::uint64_t>(size));
  Place source;
  if (copied > 0)
    source = resolve(warp, operation, lane, Space::global, from, static_cast<int>(copied), size);
  auto copy = std::make_shared<AsyncCopy>(AsyncCopy{.operation = &operation,
                                                    .block = &block,
                                                    .thread = thread_of(warp, lane),
                                                    .to = target.data,
                                                    .from = source.data,
                                                    .bytes = static_cast<std::uint32_t>(size),
                                                    .copied = copied,
                                                    .shared_target = &block});
  if (checks_races(launch)) copy->writer = &start_agent(block, copy->thread);
  check_copied(warp, operation, lane, source, copied, AccessKind::read, copy->writer);
  check_copied(warp, operation, lane, target, copy->bytes, AccessKind::write, copy->writer);
  if (copy->writer) {
    copy->written = end_agent(block, *copy->writer, operation.line);
    // PTX ISA manual, section 9.7.9.25.2: only bulk copies use the async proxy.
    launch.async->proxies.write(target.address, copy->bytes, copy->written, /*is_shared=*/true);
  }
  AsyncThread& thread = async_thread(warp, lane);
  forget_known(launch, warp, lane, thread.issued);
  thread.open[0].push_back(copy);
  thread.issued.push_back(copy);
  issue_copy(launch, copy);
  return {source, target};
}

void commit(AsyncThread& thread, std::size_t kind) {
  thread.groups[kind].push_back(std::move(thread.open[kind]));
  thread.open[kind].clear();
}

/// The thread has waited for the copies, or for the reads of their sources.
void finish_wait(const Warp& warp, int lane, const CopyList& copies, bool reads_only) {
  ActiveLaunch& launch = *warp.block->launch;
  for (const auto& copy : copies) {
    complete_copy(launch, copy);
    copy->is_observed = true;
    if (!copy->writer) continue;
    if (reads_only && copy->reader)
      acquire_agent(launch, clock_of(warp, lane), *copy->reader, copy->read);
    else
      acquire_agent(launch, clock_of(warp, lane), *copy->writer, copy->written);
  }
}

}  // namespace

namespace handlers {

void copy_elements(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const LaneAddresses to = addresses_of(warp, details.addresses[0]);
  const LaneAddresses from = addresses_of(warp, details.addresses[1]);
  std::vector<Place> sources, targets;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto at = static_cast<std::size_t>(lane);
    const CopiedPlaces places = copy_lane(warp, operation, lane, to.of[at], from.of[at]);
    if (places.source.shadow) sources.push_back(places.source);
    targets.push_back(places.target);
  }
  const auto bytes = static_cast<std::uint64_t>(details.bytes);
  count_copied(*warp.block->launch, sources, bytes, AccessKind::read);
  count_copied(*warp.block->launch, targets, bytes, AccessKind::write);
}

void commit_copies(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const std::size_t kind = details_of(operation).mode & AsyncFlags::kBulk ? 1 : 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    commit(async_thread(warp, std::countr_zero(rest)), kind);
}

/// A wait never blocks: it performs the copies that it awaits.
void wait_for_copies(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  const Details& details = details_of(operation);
  const std::size_t kind = details.mode & AsyncFlags::kBulk ? 1 : 0;
  const bool reads_only = (details.mode & AsyncFlags::kReadsOnly) != 0;
  const auto kept = static_cast<std::size_t>(details.count);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    AsyncThread& thread = async_thread(warp, lane);
    if (details.mode & AsyncFlags::kCommits) commit(thread, kind);
    std::deque<CopyList>& groups = thread.groups[kind];
    const std::size_t awaited = groups.size() - std::min(groups.size(), kept);
    for (std::size_t i = 0; i < awaited; ++i) finish_wait(warp, lane, groups[i], reads_only);
    // A later wait for the writes still needs groups whose reads are complete.
    if (!reads_only)
      groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(awaited));
  }
}

void arrive_behind_copies(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  ActiveLaunch& launch = *warp.block->launch;
  const Details& details = details_of(operation);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    MBarrier& barrier = find_mbarrier(warp, operation, lane, details.addresses[0], /*is_own=*/true);
    if (!(details.mode & AsyncFlags::kNoIncrement))
      check_rule(warp, operation, lane, barrier, barrier.counts.increment());
    const auto arrival = std::make_shared<AsyncArrival>(AsyncArrival{.barrier = &barrier});
    ++barrier.pending_operations;
    for (const auto& copy : async_thread(warp, lane).issued) {
      if (!copy->is_done) {
        copy->arrivals.push_back(arrival);
        ++arrival->copies;
      } else if (copy->writer) {
        release_to(barrier, *copy->writer, /*is_release=*/true);
      }
    }
    if (arrival->copies == 0) arrive_asynchronously(warp, operation, lane, *arrival);
    forget_known(launch, warp, lane, async_thread(warp, lane).issued);
  }
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
