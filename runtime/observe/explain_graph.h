// The recorded graph in an explanation: which groups each of its values is computed in, and what
// these read and write.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/plan.h"
#include "sinter/explain.h"

namespace sinter {

/// Fills in `nodes` and `groups`. `program` is what `graph` is planned as, by `options`.
void add_graph(Explanation& result, const Graph& graph, const Program& program,
               const Target& target, std::span<const std::int64_t> symbols,
               const PlanOptions& options);

}  // namespace sinter
