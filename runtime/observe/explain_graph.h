// The recorded graph in an explanation: the groups that compute each value, and the arrays that
// each group reads and writes.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/plan.h"
#include "sinter/explain.h"

namespace sinter {

/// Fills in `nodes` and `groups`. `program` is the plan of `graph` with `options`.
void add_graph(Explanation& result, const Graph& graph, const Program& program,
               const Target& target, std::span<const std::int64_t> symbols,
               const PlanOptions& options);

}  // namespace sinter
