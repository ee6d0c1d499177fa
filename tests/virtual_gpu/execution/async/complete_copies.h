// When asynchronous copies are performed: at once, at random times, or when a thread waits for
// them.
#pragma once

#include "tests/virtual_gpu/execution/async/async_state.h"

namespace sinter::virtual_gpu {

/// Starts a copy whose accesses have been checked. The schedule says when it is performed: `fair`
/// at once, `random` at any time, `adversarial` only when a thread waits for it.
void issue_copy(ActiveLaunch& launch, const std::shared_ptr<AsyncCopy>& copy);
/// Performs the copy now, unless that has happened, and signals its mbarriers.
void complete_copy(ActiveLaunch& launch, const std::shared_ptr<AsyncCopy>& copy);
/// An arrival of `cp.async.mbarrier.arrive` when its copies are complete.
void arrive_asynchronously(const Warp& warp, const Operation& operation, int lane,
                           AsyncArrival& arrival);
/// Performs some copies, if the schedule is random.
void advance_copies(ActiveLaunch& launch);
/// A thread polled the mbarrier without success. Performs the copies that will signal it, if the
/// schedule delays copies until they are awaited.
void advance_copies_of(MBarrier& barrier);
/// The last thread of the block has exited. Throws a Violation if a bulk copy that nothing has
/// waited for uses its shared memory.
void end_async(Block& block);

}  // namespace sinter::virtual_gpu
