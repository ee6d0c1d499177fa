// Kernels that reduce rows and, over all rows, their columns in one read.
#pragma once

#include <string>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// How many states of a column wait for their partner while a split goes through its accumulators:
/// the binary logarithm of these.
int waiting_levels(const Tree& over_rows, std::int64_t splits);

/// The blocks of a schedule of rows and columns.
int blocks_of(const Schedule& schedule);

/// How many states of each column come to the workspace: one for each block, or cluster of them.
int states_left(const Schedule& schedule);

/// How many of these one block joins; the last block joins what such groups leave.
int states_per_group(const Schedule& schedule);

/// How many states of one reduction a block has in shared memory, be it that they wait or that they
/// are handed over, where a thread holds `held` of all `columns`.
std::int64_t states_in_shared(const Tree& over_rows, const Schedule& schedule, std::int64_t held,
                              std::int64_t columns);

/// True if all of a row may be loaded before anything is done with it: no address is itself loaded.
bool loads_ahead(const Body& body);

/// Schedules of a body with column reductions, best guess first; none where its rows do not fit.
std::vector<Schedule> row_column_candidates(const Body& body, const Target& target,
                                            const Facts& facts);

/// Why one kernel should not reduce the rows and columns of `body`; empty where it may.
std::string row_column_refusal(const Body& body, const Target& target, const Facts& facts);

}  // namespace sinter
