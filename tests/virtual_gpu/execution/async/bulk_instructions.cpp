// cp.async.bulk: copies between global memory and the shared memory of a cluster.
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

constexpr int kAlignment = 16;

/// The size of a bulk copy or prefetch.
std::uint32_t read_size(const Warp& warp, const Operation& operation, int lane) {
  const std::uint32_t size = read_word(warp, operation.operands[0], lane);
  if (size % kAlignment != 0 || size > INT32_MAX)
    fail(warp, operation, lane, CheckKind::memory,
         fmt::format("the size {} is no multiple of {}", size, kAlignment));
  return size;
}

Place resolve_range(const Warp& warp, const Operation& operation, int lane,
                    const AddressOperand& operand, std::uint32_t size) {
  const std::uint64_t address = addresses_of(warp, operand).of[static_cast<std::size_t>(lane)];
  return resolve(warp, operation, lane, operand.space, address, static_cast<int>(size), kAlignment);
}

/// One copy of a lane. A multicast has several targets and mbarriers, at the same offsets.
struct BulkCopy {
  const Warp& warp;
  const Operation& operation;
  int lane;
  std::uint32_t size = 0;
  Place source = {};
  std::vector<Place> targets = {};
  std::vector<MBarrier*> barriers = {};  ///< of the targets; empty if the copy belongs to a group
  std::uint16_t byte_mask = 0xffff;

  bool is_load() const { return !source.is_shared; }
  ActiveLaunch& launch() const { return *warp.block->launch; }
};

void check_proxy(const BulkCopy& bulk, const Place& place, const char* access) {
  ActiveLaunch& launch = bulk.launch();
  if (!checks_races(launch)) return;
  const auto unfenced = launch.async->proxies.find_unfenced(
      place.address, bulk.size, clock_of(bulk.warp, bulk.lane), *launch.order);
  if (!unfenced) return;
  const int line = unfenced->line;
  fail(bulk.warp, bulk.operation, bulk.lane, CheckKind::race,
       fmt::format("the async proxy {} {} memory that the generic proxy wrote at line {} ({}), "
                   "without a fence.proxy.async between both",
                   access, place.is_shared ? "shared" : "global", line,
                   line_of(launch.request.program->module, line)));
}

/// Reads of the target by threads of its block need proxy fences too.
void check_readers(const BulkCopy& bulk, const Place& target) {
  ActiveLaunch& launch = bulk.launch();
  if (!checks_races(launch) || !target.block) return;
  const auto line = target.block->async->proxy_reads.find_unfenced(
      target.offset, bulk.size, clock_of(bulk.warp, bulk.lane), *launch.order);
  if (!line) return;
  fail(bulk.warp, bulk.operation, bulk.lane, CheckKind::race,
       fmt::format("the async proxy writes shared memory that the generic proxy read at line {} "
                   "({}), without a fence.proxy.async of the reader between both: each thread that "
                   "reads must run fence.proxy.async.shared::cta behind its reads, and in front of "
                   "the barrier before the copy",
                   *line, line_of(launch.request.program->module, *line)));
}

/// Checks the accesses of the copy. A reading agent and a writing one behind it make them.
void check_accesses(const BulkCopy& bulk, AsyncCopy& copy) {
  const Warp& warp = bulk.warp;
  ActiveLaunch& launch = bulk.launch();
  Block& block = *warp.block;
  check_proxy(bulk, bulk.source, "reads");
  for (const Place& target : bulk.targets) {
    check_no_mbarrier(warp, bulk.operation, bulk.lane, target, bulk.size);
    check_proxy(bulk, target, "writes");
    check_readers(bulk, target);
  }
  if (checks_races(launch)) {
    copy.reader = &start_agent(block, copy.thread);
    copy.writer = copy.reader;
  }
  check_copied(warp, bulk.operation, bulk.lane, bulk.source, bulk.size, AccessKind::read,
               copy.reader);
  count_copied(launch, {&bulk.source, 1}, bulk.size, AccessKind::read);
  if (copy.reader) {
    copy.read = end_agent(block, *copy.reader, bulk.operation.line);
    copy.writer = &start_agent_behind(block, copy.thread, *copy.reader);
  }
  for (const Place& target : bulk.targets) {
    if (bulk.byte_mask == 0xffff)
      check_copied(warp, bulk.operation, bulk.lane, target, bulk.size, AccessKind::write,
                   copy.writer);
    for (std::uint32_t i = 0; bulk.byte_mask != 0xffff && i < bulk.size; ++i) {
      if (!((bulk.byte_mask >> (i % kAlignment)) & 1)) continue;
      Place byte = target;
      byte.offset += i, byte.address += i;
      check_copied(warp, bulk.operation, bulk.lane, byte, 1, AccessKind::write, copy.writer);
    }
    count_copied(launch, {&target, 1}, bulk.size, AccessKind::write);
    launch.async->proxies.forget(target.address, bulk.size);
    if (target.block) target.block->async->proxy_reads.forget(target.offset, bulk.size);
  }
  if (copy.writer) copy.written = end_agent(block, *copy.writer, bulk.operation.line);
}

void issue(const BulkCopy& bulk) {
  ActiveLaunch& launch = bulk.launch();
  Block& block = *bulk.warp.block;
  AsyncCopy all{.operation = &bulk.operation,
                .block = &block,
                .thread = thread_of(bulk.warp, bulk.lane),
                .from = bulk.source.data,
                .bytes = bulk.size,
                .copied = bulk.size,
                .byte_mask = bulk.byte_mask,
                .shared_source = bulk.source.block};
  check_accesses(bulk, all);
  for (std::size_t i = 0; i < bulk.targets.size(); ++i) {
    auto copy = std::make_shared<AsyncCopy>(all);
    copy->to = bulk.targets[i].data;
    copy->shared_target = bulk.targets[i].block;
    if (bulk.barriers.empty()) {
      async_thread(bulk.warp, bulk.lane).open[1].push_back(copy);
    } else {
      copy->barrier = bulk.barriers[i];
      ++copy->barrier->pending_operations;
    }
    launch.async->bulk_copies.push_back(copy);
    issue_copy(launch, copy);
  }
}

/// The same offset in the shared memory of each block of the mask.
void multicast(BulkCopy& bulk, const Place& barrier) {
  const auto& blocks = bulk.warp.block->cluster->blocks;
  const Place target = bulk.targets[0];
  const std::uint32_t mask = read_word(bulk.warp, bulk.operation.operands[1], bulk.lane) & 0xffff;
  if (mask == 0 || mask >> blocks.size() != 0)
    fail(bulk.warp, bulk.operation, bulk.lane, CheckKind::memory,
         fmt::format("the mask {:#x} must name some of the {} blocks of the cluster", mask,
                     blocks.size()));
  bulk.targets.clear();
  for (std::uint32_t rest = mask; rest; rest &= rest - 1) {
    const auto rank = static_cast<std::uint64_t>(std::countr_zero(rest));
    const auto in_block = [&](const Place& place, std::uint32_t size, int alignment) {
      return resolve(bulk.warp, bulk.operation, bulk.lane, Space::cluster,
                     ((rank + 1) << kRankShift) + kFirstAddress + place.offset,
                     static_cast<int>(size), alignment);
    };
    bulk.targets.push_back(in_block(target, bulk.size, kAlignment));
    bulk.barriers.push_back(
        &find_mbarrier(bulk.warp, bulk.operation, bulk.lane, in_block(barrier, 8, 8)));
  }
}

void bulk_copy_lane(const Warp& warp, const Operation& operation, int lane) {
  const Details& details = details_of(operation);
  BulkCopy bulk{.warp = warp, .operation = operation, .lane = lane};
  bulk.size = read_size(warp, operation, lane);
  const Place target = resolve_range(warp, operation, lane, details.addresses[0], bulk.size);
  bulk.source = resolve_range(warp, operation, lane, details.addresses[1], bulk.size);
  bulk.targets = {target};
  if (details.mode & AsyncFlags::kByteMask)
    bulk.byte_mask =
        static_cast<std::uint16_t>(read_word(warp, operation.operands[1], lane) & 0xffff);
  if (details.addresses.size() == 3) {
    const Place barrier =
        resolve_mbarrier(warp, operation, lane, details.addresses[2], /*is_own=*/false);
    if (barrier.block != target.block)
      fail(warp, operation, lane, CheckKind::memory,
           fmt::format("the mbarrier is in block {} of the cluster, the destination in block {}",
                       barrier.block->rank, target.block->rank));
    if (bulk.source.is_shared && target.block == warp.block)
      fail(warp, operation, lane, CheckKind::memory,
           "the destination must be in the shared memory of another block of the cluster");
    if (details.mode & AsyncFlags::kMulticast)
      multicast(bulk, barrier);
    else
      bulk.barriers = {&find_mbarrier(warp, operation, lane, barrier)};
  }
  issue(bulk);
}

}  // namespace

namespace handlers {

void copy_bulk(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    bulk_copy_lane(warp, operation, std::countr_zero(rest));
}

void prefetch_bulk(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    resolve_range(warp, operation, lane, details_of(operation).addresses[0],
                  read_size(warp, operation, lane));
  }
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
