// The fusion pass: decides which nodes of a simplified graph share a kernel, and records why the
// other kernels are separate.
#pragma once

#include "compiler/program/kernel.h"
#include "compiler/program/plan_options.h"
#include "compiler/target/target.h"

namespace sinter {

/// Groups the nodes of `graph` into kernels. Needs: primitive nodes only (lower). Guarantees: one
/// kernel stores each output and update, and every kernel has a body. The order of the kernels
/// respects all dependencies. Every edge between two kernels has a Boundary.
Program fuse(Graph graph, const Target& target, const Facts& facts, const PlanOptions& options);

}  // namespace sinter
