// Barriers of blocks and clusters, fences, and the order of launches.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/machine.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

/// An aligned instruction needs all threads of the warp that have not exited: PTX ISA manual,
/// `bar`: "all threads in a warp must execute the same barrier instruction".
void expect_all_lanes(const Warp& warp, const Operation& operation) {
  if (warp.mask == warp.live) return;
  const Mask missing = warp.live & ~warp.mask;
  fail(warp, operation, std::countr_zero(warp.mask), CheckKind::synchronization,
       fmt::format("{} lanes of the warp are missing (mask {:#010x}), the first one is lane {}",
                   std::popcount(missing), missing, std::countr_zero(missing)));
}

void block_at(Warp& warp, const Operation& operation, WarpState state) {
  warp.state = state;
  warp.blocked_at = &operation;
  warp.spins = 0;
}


/// The number of threads that a barrier instruction names, or 0.
std::uint32_t awaited_threads(const Warp& warp, const Operation& operation, int lane) {
  if (operation.operands[2] == kNoSlot) return 0;
  const std::uint32_t count = read_word(warp, operation.operands[2], lane);
  if (count == 0 || count % kLanes != 0)
    fail(warp, operation, lane, CheckKind::synchronization,
         fmt::format("{} threads are no multiple of the warp size", count));
  return count;
}

/// The rules of PTX ISA manual, section 9.7.13.1, for an arrival at a barrier that is in use.
void check_arrival(const Warp& warp, const Operation& operation, int lane, const Barrier& barrier,
                   std::uint32_t awaited) {
  const bool is_reduction = operation.execute == handlers::barrier_reduction;
  const bool was_reduction = barrier.operation->execute == handlers::barrier_reduction;
  if (is_reduction != was_reduction)
    fail(warp, operation, lane, CheckKind::synchronization,
         fmt::format("barrier {} is used by another kind of instruction at line {}", warp.barrier,
                     barrier.operation->line));
  if (barrier.awaited != awaited)
    fail(warp, operation, lane, CheckKind::synchronization,
         fmt::format("it names {} threads for barrier {}, but the instruction at line {} named {}",
                     awaited, warp.barrier, barrier.operation->line, barrier.awaited));
  if (std::ranges::find(barrier.warps, warp.index) != barrier.warps.end())
    fail(
        warp, operation, lane, CheckKind::synchronization,
        fmt::format("the warp arrives twice at barrier {}, which has not completed", warp.barrier));
}

Barrier& arrive(Warp& warp, const Operation& operation) {
  expect_all_lanes(warp, operation);
  const int lane = std::countr_zero(warp.mask);
  warp.barrier = read_word(warp, operation.operands[0], lane);
  if (warp.barrier >= warp.block->barriers.size())
    fail(warp, operation, lane, CheckKind::synchronization,
         fmt::format("barrier {} does not exist, the last one is 15", warp.barrier));
  Barrier& barrier = warp.block->barriers[warp.barrier];
  const std::uint32_t awaited = awaited_threads(warp, operation, lane);
  if (barrier.arrived > 0) check_arrival(warp, operation, lane, barrier, awaited);
  barrier.operation = &operation;
  barrier.awaited = awaited;
  barrier.warps.push_back(warp.index);
  ++barrier.arrived;
  barrier.threads += static_cast<std::uint32_t>(std::popcount(warp.mask));
  return barrier;
}

void write_reduction(Warp& warp, const Barrier& barrier) {
  using handlers::BarrierReduction;
  const Operation& operation = *warp.blocked_at;
  const auto mode = static_cast<BarrierReduction>(details_of(operation).mode);
  std::byte* const result = warp.at(operation.results[0]);
  if (mode == BarrierReduction::popc) {
    for (Mask rest = warp.live; rest; rest &= rest - 1)
      std::memcpy(result + std::countr_zero(rest) * 4, &barrier.count, 4);
    return;
  }
  const bool value =
      mode == BarrierReduction::any ? barrier.count > 0 : barrier.count == barrier.threads;
  Mask bits;
  std::memcpy(&bits, result, sizeof bits);
  bits = value ? bits | warp.live : bits & ~warp.live;
  std::memcpy(result, &bits, sizeof bits);
}

/// Orders the accesses of the threads that arrived before those of the threads that waited.
void order_threads(Block& block, const Barrier& barrier) {
  HappensBefore& order = *block.launch->order;
  if (barrier.release_key == 0 && barrier.arrived == block.live_warps)
    return order.block_barrier(*block.clock);
  std::vector<std::uint32_t> waiting;
  for (const int index : barrier.warps) {
    const Warp& warp = block.warps[static_cast<std::size_t>(index)];
    if (warp.state != WarpState::at_barrier || &block.barriers[warp.barrier] != &barrier) continue;
    for (Mask rest = warp.live; rest; rest &= rest - 1)
      waiting.push_back(thread_of(warp, std::countr_zero(rest)));
  }
  if (!waiting.empty()) order.barrier_of(*block.clock, waiting);
  if (barrier.release_key == 0) return;
  for (const std::uint32_t thread : waiting)
    order.strong_read(order.thread(*block.clock, static_cast<int>(thread)), barrier.release_key,
                      /*is_acquire=*/true);
}

void complete(Block& block, std::uint32_t number) {
  Barrier& barrier = block.barriers[number];
  order_threads(block, barrier);
  const bool has_result = barrier.operation->execute == handlers::barrier_reduction;
  for (Warp& warp : block.warps) {
    if (warp.state != WarpState::at_barrier || warp.barrier != number) continue;
    if (has_result) write_reduction(warp, barrier);
    warp.state = WarpState::ready;
  }
  barrier = {};
}

bool is_complete(const Block& block, const Barrier& barrier) {
  if (barrier.arrived == 0) return false;
  if (barrier.awaited == 0) return barrier.arrived == block.live_warps;
  // A warp counts as 32 threads, also if it has fewer.
  return static_cast<std::uint32_t>(barrier.arrived * kLanes) >= barrier.awaited;
}

void complete_cluster_barrier(Cluster& cluster) {
  bool any = false;
  for (const std::unique_ptr<Block>& block : cluster.blocks)
    for (const Warp& warp : block->warps) {
      if (warp.state != WarpState::done && !warp.has_arrived) return;
      any |= warp.has_arrived;
    }
  if (!any) return;
  ++cluster.phase;
  for (const std::unique_ptr<Block>& block : cluster.blocks)
    for (Warp& warp : block->warps) {
      warp.has_arrived = false;
      if (warp.state != WarpState::at_cluster_barrier) continue;
      warp.state = WarpState::ready;
      warp.owes_wait = false;
      warp.has_met_cluster = true;
      for (Mask rest = warp.live; rest; rest &= rest - 1)
        block->launch->order->cluster_wait(clock_of(warp, std::countr_zero(rest)),
                                           cluster.first_phase + warp.awaited_phase,
                                           details_of(*warp.blocked_at).mode != 0);
    }
}

}  // namespace

void complete_barriers(Block& block) {
  for (std::uint32_t i = 0; i < block.barriers.size(); ++i)
    if (is_complete(block, block.barriers[i])) complete(block, i);
  complete_cluster_barrier(*block.cluster);
}

namespace handlers {

void block_barrier(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  arrive(warp, operation);
  block_at(warp, operation, WarpState::at_barrier);
  complete_barriers(*warp.block);
}

void barrier_arrive(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  ActiveLaunch& launch = *warp.block->launch;
  Barrier& barrier = arrive(warp, operation);
  if (barrier.release_key == 0) barrier.release_key = new_order_key(launch);
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    launch.order->strong_write(clock_of(warp, std::countr_zero(rest)), barrier.release_key,
                               /*is_atomic=*/true, /*is_release=*/true);
  complete_barriers(*warp.block);
}

void barrier_reduction(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  Barrier& barrier = arrive(warp, operation);
  Mask predicate;
  std::memcpy(&predicate, warp.source(operation.operands[1]), sizeof predicate);
  if (operation.negated_operands & 2) predicate = ~predicate;
  barrier.count += static_cast<std::uint32_t>(std::popcount(predicate & warp.mask));
  block_at(warp, operation, WarpState::at_barrier);
  complete_barriers(*warp.block);
}

void cluster_arrive(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  expect_all_lanes(warp, operation);
  const int first = std::countr_zero(warp.mask);
  if (warp.owes_wait)
    fail(warp, operation, first, CheckKind::synchronization,
         "the threads arrive twice at the cluster barrier without a wait");
  Cluster& cluster = *warp.block->cluster;
  warp.has_arrived = warp.owes_wait = true;
  warp.awaited_phase = cluster.phase;
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    warp.block->launch->order->cluster_arrive(clock_of(warp, std::countr_zero(rest)),
                                              cluster.first_phase + cluster.phase,
                                              details_of(operation).mode != 0);
  complete_cluster_barrier(cluster);
}

void cluster_wait(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  expect_all_lanes(warp, operation);
  Cluster& cluster = *warp.block->cluster;
  if (!warp.owes_wait)
    fail(warp, operation, std::countr_zero(warp.mask), CheckKind::synchronization,
         "the threads wait at the cluster barrier without an arrival");
  if (warp.has_arrived) return block_at(warp, operation, WarpState::at_cluster_barrier);
  warp.owes_wait = false;
  warp.has_met_cluster = true;
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    warp.block->launch->order->cluster_wait(clock_of(warp, std::countr_zero(rest)),
                                            cluster.first_phase + warp.awaited_phase,
                                            details_of(operation).mode != 0);
}

void fence(LaneState& state, const Operation&) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    warp.block->launch->order->fence(clock_of(warp, std::countr_zero(rest)));
}

void wait_for_prior_launches(LaneState& state, const Operation& operation) {
  Warp& warp = warp_of(state);
  for (Mask rest = warp.mask; rest; rest &= rest - 1)
    warp.block->launch->order->wait_for_prior_launches(clock_of(warp, std::countr_zero(rest)));
  block_at(warp, operation, WarpState::at_grid_wait);  // the scheduler wakes it
}

void launch_dependents(LaneState& state, const Operation&) {
  Block& block = *warp_of(state).block;
  if (block.lets_dependents_start) return;
  block.lets_dependents_start = true;
  ++block.launch->triggered_blocks;
}

}  // namespace handlers

}  // namespace sinter::virtual_gpu
