// Copied loads: the operands of a pointwise or row kernel that asynchronous copies bring to tiles
// in shared memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"

namespace sinter {

/// The loads of a pointwise or row kernel that `schedule` copies. Their elements are contiguous in
/// the order of the iteration space, unconditional, and aligned to the copies. All other loads
/// remain loads.
std::vector<int> copied_loads(const Body& body, const Schedule& schedule, const Facts& facts);

/// Elements of one load that a block copies at once: one vector per thread, or adjacent rows.
std::int64_t copied_elements(const Body& body, const Schedule& schedule);
/// Bytes of one stage: a tile of each of `loads`.
std::int64_t stage_bytes(const Body& body, std::span<const int> loads, const Schedule& schedule);
/// Stages that are in flight while a block computes. A stage is filled again when its elements are
/// in registers. If a row kernel keeps other values than the copied loads, that is after its last
/// pass.
int stages_in_flight(const Body& body, std::span<const int> loads, const Schedule& schedule);
/// Bytes in shared memory of all stages, and of the barriers that bulk copies need.
std::int64_t copied_shared_bytes(std::int64_t stage_bytes, const Schedule& schedule);
/// True if blocks of a row kernel with `schedule` can work on several groups of rows in turn.
/// Copies then bring the next ones. `schedule` itself has no copies.
bool may_copy_rows(const Body& body, const Schedule& schedule);

}  // namespace sinter
