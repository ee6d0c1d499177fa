// The functions that execute instructions which are no plain arithmetic. execution/ defines them;
// the decoder refers to them.
#pragma once

#include "tests/virtual_gpu/isa/lane_state.h"

namespace sinter::virtual_gpu::handlers {

// ---- execution/memory_instructions.cpp ----
void load(LaneState&, const Operation&);
void load_parameter(LaneState&, const Operation&);
void store(LaneState&, const Operation&);
void atomic(LaneState&, const Operation&);
/// `atom.cas`: the second data register is the new value.
void compare_and_swap(LaneState&, const Operation&);

// ---- execution/address_instructions.cpp ----
/// `cvta.to.shared` and `cvta.to.local`: from generic addresses.
void to_window(LaneState&, const Operation&);
/// `cvta.shared` and `cvta.local`: to generic addresses.
void from_window(LaneState&, const Operation&);
/// `mapa`: the address of the same variable in another block of the cluster.
void map_to_rank(LaneState&, const Operation&);

// ---- execution/lane_instructions.cpp ----
void pack(LaneState&, const Operation&);
void unpack(LaneState&, const Operation&);
void shuffle(LaneState&, const Operation&);
void vote(LaneState&, const Operation&);
void active_mask(LaneState&, const Operation&);
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
void block_barrier(LaneState&, const Operation&);
/// `bar.red`; `mode` is a BarrierReduction.
void barrier_reduction(LaneState&, const Operation&);
/// `barrier.cluster.arrive`; `mode` is 1 for release, 0 for relaxed.
void cluster_arrive(LaneState&, const Operation&);
void cluster_wait(LaneState&, const Operation&);
void fence(LaneState&, const Operation&);
void wait_for_prior_launches(LaneState&, const Operation&);
void launch_dependents(LaneState&, const Operation&);

enum class ShuffleMode { up, down, butterfly, index };
enum class VoteMode { all, any, uniform, ballot };
enum class BarrierReduction { popc, all, any };

}  // namespace sinter::virtual_gpu::handlers
