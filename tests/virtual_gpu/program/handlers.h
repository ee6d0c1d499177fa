// The functions that execute instructions which are no plain arithmetic. execution/ defines them;
// the decoder refers to them.
#pragma once

#include "tests/virtual_gpu/isa/lane_state.h"

namespace sinter::virtual_gpu::handlers {

// ---- execution/memory_instructions.cpp ----
void load(LaneState&, const Operation&);
void load_parameter(LaneState&, const Operation&);
/// `ld.param` with an address in a register.
void load_parameter_at(LaneState&, const Operation&);
void store(LaneState&, const Operation&);
void atomic(LaneState&, const Operation&);
void vector_atomic(LaneState&, const Operation&);
/// `atom.cas`: the second data register is the new value.
void compare_and_swap(LaneState&, const Operation&);

// ---- execution/address_instructions.cpp ----
/// `cvta.to.shared` and `cvta.to.local`: from generic addresses.
void to_window(LaneState&, const Operation&);
/// `cvta.shared` and `cvta.local`: to generic addresses.
void from_window(LaneState&, const Operation&);
/// `mapa`: the address of the same variable in another block of the cluster.
void map_to_rank(LaneState&, const Operation&);
/// `isspacep`: whether a generic address is in the space.
void is_in_space(LaneState&, const Operation&);

// ---- execution/lane_instructions.cpp ----
void pack(LaneState&, const Operation&);
void unpack(LaneState&, const Operation&);
void shuffle(LaneState&, const Operation&);
void vote(LaneState&, const Operation&);
void active_mask(LaneState&, const Operation&);
/// `elect.sync`: the lowest member.
void elect(LaneState&, const Operation&);
/// `match.sync`; `mode` is a MatchMode.
void match(LaneState&, const Operation&);
/// `redux.sync`; `combine` is its operation.
void reduce_lanes(LaneState&, const Operation&);
/// `clock`, `clock64`, `globaltimer`: the number of executed instructions.
void read_clock(LaneState&, const Operation&);
/// `createpolicy`, `prefetch`, `nanosleep`: the results are 0.
void hint(LaneState&, const Operation&);

// ---- execution/control_instructions.cpp ----
void branch(LaneState&, const Operation&);
void branch_indexed(LaneState&, const Operation&);
void exit(LaneState&, const Operation&);
void trap(LaneState&, const Operation&);

// ---- execution/synchronization_instructions.cpp ----
/// `bar.sync`. Of all barriers, operand 0 is the barrier, and operand 2 the number of threads or
/// none.
void block_barrier(LaneState&, const Operation&);
/// `bar.arrive`.
void barrier_arrive(LaneState&, const Operation&);
/// `bar.red`; `mode` is a BarrierReduction.
void barrier_reduction(LaneState&, const Operation&);
/// `bar.warp.sync`.
void warp_barrier(LaneState&, const Operation&);
/// `barrier.cluster.arrive`; `mode` is 1 for release, 0 for relaxed.
void cluster_arrive(LaneState&, const Operation&);
void cluster_wait(LaneState&, const Operation&);
void fence(LaneState&, const Operation&);
void wait_for_prior_launches(LaneState&, const Operation&);
void launch_dependents(LaneState&, const Operation&);

// ---- execution/async ----
/// `cp.async.ca` and `.cg`. Addresses: destination, source. `bytes` is the size; operand 0 is the
/// size of the source or none, operand 1 the predicate that ignores the source or none.
void copy_elements(LaneState&, const Operation&);
/// `cp.async.bulk`. Addresses: destination, source, mbarrier if any. Operand 0 is the size, operand
/// 1 the mask of blocks or of bytes, if the flags say so.
void copy_bulk(LaneState&, const Operation&);
/// `cp.async.bulk.prefetch`. Address: the source. Operand 0 is the size.
void prefetch_bulk(LaneState&, const Operation&);
/// `cp.async.commit_group`, and `cp.async.bulk.commit_group` with kBulk.
void commit_copies(LaneState&, const Operation&);
/// `cp.async.wait_group` and `cp.async.bulk.wait_group`: `count` is the number of groups.
/// `cp.async.wait_all` has kCommits.
void wait_for_copies(LaneState&, const Operation&);
/// `cp.async.mbarrier.arrive`. Address: the mbarrier.
void arrive_behind_copies(LaneState&, const Operation&);
/// Address: the mbarrier. Operand 0 is the count.
void mbarrier_init(LaneState&, const Operation&);
void mbarrier_invalidate(LaneState&, const Operation&);
/// `mbarrier.arrive` and `.arrive_drop`. Operand 0 is the count, or the bytes with kExpects, or
/// none.
void mbarrier_arrive(LaneState&, const Operation&);
/// `mbarrier.expect_tx` and, with kCompletes, `.complete_tx`. Operand 0 is the number of bytes.
void mbarrier_transact(LaneState&, const Operation&);
/// `mbarrier.test_wait` and `.try_wait`. Operand 0 is the state, or the parity with kParity.
void mbarrier_wait(LaneState&, const Operation&);
/// `mbarrier.pending_count`. Operand 0 is the state.
void mbarrier_pending_count(LaneState&, const Operation&);
/// `fence.mbarrier_init.release.cluster`.
void mbarrier_init_fence(LaneState&, const Operation&);
/// `fence.proxy.async`; `mode` is a ProxyFence.
void proxy_fence(LaneState&, const Operation&);

/// `mode` of asynchronous instructions: a sum of bits.
struct AsyncFlags {
  static constexpr int kBulk = 1;
  static constexpr int kReadsOnly = 2;    ///< `.read`: waits for the reads of the sources
  static constexpr int kCommits = 4;      ///< `wait_all`
  static constexpr int kNoIncrement = 8;  ///< `.noinc`
  static constexpr int kMulticast = 16;   ///< `.multicast::cluster`
  static constexpr int kByteMask = 32;    ///< `.cp_mask`
  static constexpr int kExpects = 64;     ///< `.expect_tx`
  static constexpr int kCompletes = 128;  ///< `.complete_tx`
  static constexpr int kNoComplete = 256;
  static constexpr int kDrops = 512;  ///< `.arrive_drop`
  static constexpr int kParity = 1024;
  static constexpr int kRelaxed = 2048;
};
/// The spaces of a `fence.proxy.async`, as bits.
struct ProxyFence {
  static constexpr int kShared = 1;
  static constexpr int kGlobal = 2;
};

enum class ShuffleMode { up, down, butterfly, index };
enum class VoteMode { all, any, uniform, ballot };
enum class MatchMode { any, all };
enum class BarrierReduction { popc, all, any };

}  // namespace sinter::virtual_gpu::handlers
