// mbarrier objects in shared memory: how they are found, signalled and awaited.
#pragma once

#include "tests/virtual_gpu/execution/async/async_state.h"
#include "tests/virtual_gpu/execution/resolve_address.h"

namespace sinter::virtual_gpu {

/// The place of an mbarrier. Throws a Violation if it is not in shared memory, misaligned, or, if
/// `is_own`, in another block.
Place resolve_mbarrier(const Warp& warp, const Operation& operation, int lane,
                       const AddressOperand& operand, bool is_own);
/// The initialised mbarrier there, for a use by the lane. Throws a Violation if there is none, or
/// if nothing orders its initialisation before the use.
MBarrier& find_mbarrier(const Warp& warp, const Operation& operation, int lane,
                        const AddressOperand& operand, bool is_own);
MBarrier& find_mbarrier(const Warp& warp, const Operation& operation, int lane, const Place& place);
void begin_mbarrier(const Warp& warp, const Operation& operation, int lane, const Place& place,
                    std::uint32_t count);
void end_mbarrier(const Warp& warp, const Operation& operation, int lane, MBarrier& barrier);
/// The address as its block sees it.
std::uint64_t address_of(const MBarrier& barrier);

/// A thread or agent arrives at the current phase, or completes bytes of it.
void release_to(MBarrier& barrier, ThreadClock& thread, bool is_release);
/// A thread has seen the end of the last complete phase.
void acquire_from(MBarrier& barrier, ThreadClock& thread, bool is_acquire);
/// Begins the next phase if the current one is complete.
void advance_phase(MBarrier& barrier);
/// A wait returned true for the last complete phase.
void observe_phase(MBarrier& barrier);

/// Throws a Violation if the bytes hold an mbarrier.
void check_no_mbarrier(const Warp& warp, const Operation& operation, int lane, const Place& place,
                       std::uint64_t bytes);
/// Throws a Violation if the problem is not empty.
void check_rule(const Warp& warp, const Operation& operation, int lane, const MBarrier& barrier,
                const std::string& problem);

}  // namespace sinter::virtual_gpu
