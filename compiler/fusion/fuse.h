// Fusing: which nodes of a simplified graph share a kernel, and why the others do not.
#pragma once

#include "compiler/program/kernel.h"
#include "compiler/program/plan_options.h"
#include "compiler/target/target.h"

namespace sinter {

/// Groups the nodes of `graph` into kernels. Needs: primitive nodes only (lower). Guarantees: every
/// output and update is stored by one kernel, kernels stand in an order that keeps all
/// dependencies, every body exists, and every edge between two kernels has a Boundary.
Program fuse(Graph graph, const Target& target, const Facts& facts, const PlanOptions& options);

}  // namespace sinter
