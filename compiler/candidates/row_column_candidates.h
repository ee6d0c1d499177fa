// Candidate schedules of kernels that reduce rows and, over all rows, columns in one read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// The most splits: the last blocks combine them in two steps, each of which a thread unrolls.
inline constexpr std::int64_t kMaxCombinedSplits = 4096;

/// The number of pending states of a column while a split processes its accumulators: the binary
/// logarithm of the number of accumulators.
int pending_levels(const Tree& column_tree, std::int64_t splits);

/// The number of blocks of a schedule of rows and columns.
int blocks_of(const Schedule& schedule);

/// The number of states of each column in the workspace: one per block, or one per cluster that
/// combines columns or shares rows.
int workspace_states(const Schedule& schedule);

/// The number of these states that one block combines. The last block combines the results of all
/// groups.
int states_per_group(const Schedule& schedule);

/// The number of states of one reduction in the shared memory of a block. That is the larger of the
/// pending states and the states exchanged at the end. A thread holds `held` of all `columns`.
std::int64_t states_in_shared(const Tree& column_tree, const Schedule& schedule, std::int64_t held,
                              std::int64_t columns);

/// True if a whole row can be loaded before any computation: no address depends on a load.
bool can_load_whole_rows(const Body& body);

/// Schedules of a body with column reductions, by predicted time; none if its rows do not fit.
std::vector<Schedule> row_column_candidates(const Body& body, const Target& target,
                                            const Facts& facts);

/// The reason why one kernel should not reduce the rows and columns of `body`; "" if it may.
std::string row_column_refusal(const Body& body, const Target& target, const Facts& facts);

}  // namespace sinter
