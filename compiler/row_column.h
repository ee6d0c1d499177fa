// Kernels that reduce rows and, over all rows, their columns in one read.
#pragma once

#include <string>
#include <vector>

#include "compiler/body.h"
#include "compiler/kernel.h"
#include "compiler/schedule.h"
#include "compiler/target.h"
#include "compiler/tree.h"

namespace sinter {

/// How many states of a column wait for their partner while a piece goes through its accumulators:
/// the binary logarithm of these.
int waiting_levels(const Tree& over_rows, std::int64_t pieces);

/// How many pieces one block joins; the last block joins what these leave.
int pieces_per_group(const Schedule& schedule);

/// True if all of a row may be loaded before anything is done with it: no address is itself loaded.
bool loads_ahead(const Body& body);

/// Schedules of a body with column reductions, best guess first; none where its rows do not fit.
std::vector<Schedule> row_column_candidates(const Body& body, const Target& target,
                                            const Facts& facts);

/// Why one kernel should not reduce the rows and columns of `body`; empty where it may.
std::string row_column_refusal(const Body& body, const Target& target, const Facts& facts);

}  // namespace sinter
