// The compiler's entry point: plans a graph into a scheduled program. plan.cpp reads as a table of
// contents of all passes.
#pragma once

#include "compiler/memory/plan_memory.h"
#include "compiler/program/guards.h"
#include "compiler/program/kernel.h"
#include "compiler/program/plan_options.h"
#include "compiler/target/target.h"

namespace sinter {

/// Returns the program of `graph` for `target` and the sizes in `facts`. Does not change the graph.
Program plan(const Graph& graph, const Target& target, const Facts& facts,
             const PlanOptions& options = {});

}  // namespace sinter
