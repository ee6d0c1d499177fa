// The compiler's table of contents: graph → scheduled program.
#pragma once

#include "compiler/memory/plan_memory.h"
#include "compiler/program/guards.h"
#include "compiler/program/kernel.h"
#include "compiler/program/plan_options.h"
#include "compiler/target/target.h"

namespace sinter {

/// The program of `graph` for `target` and the sizes in `facts`. The graph is not changed.
Program plan(const Graph& graph, const Target& target, const Facts& facts,
             const PlanOptions& options = {});

}  // namespace sinter
