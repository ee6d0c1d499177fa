// Opaque calls (ir/record/opaque.h) as the planner sees them: launches of their own, whose operands
// and results are whole in memory.
#pragma once

#include <string>

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Gives calls copies of operands that lie in memory in another order, and outputs and updates
/// copies of results that would. Views and numbers that a call reads need no copy: they are stored
/// for it as they are.
void assign_call_buffers(GraphData& graph);

/// True for operands of calls that a kernel must store: all but inputs, and run-time scalars, which
/// are handed over as numbers.
bool must_be_stored_for_call(const Node& operand);

/// Why a call of `node` shares no kernel with anything.
std::string opaque_boundary(const Node& node);

/// What a call reads, what it takes, and what it moves at least: of its operands and results.
void schedule_call(const Program& program, Kernel& kernel, const Target& target);

}  // namespace sinter
