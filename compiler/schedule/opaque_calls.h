// Planning of opaque calls (ir/record/opaque.h): separate launches whose operands and results are
// whole arrays in memory.
#pragma once

#include <string>

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Inserts copies so that calls read and write row-major arrays of their own. Copies operands that
/// are in another memory order. Copies results for updates, for strided outputs and for repeated
/// outputs. Views and numbers need no copy: kernels store them for the call in row-major order.
void assign_call_buffers(GraphData& graph);

/// True for operands of calls that a kernel must store. Inputs are already in memory, and run-time
/// scalars are passed by value.
bool must_be_stored_for_call(const Node& operand);

/// The boundary reason of a call of `node`, which shares no kernel with other nodes.
std::string opaque_boundary(const Node& node);

/// Fills in the reads, bytes and predicted time of a call. The bytes are a lower bound: those of
/// its operands and results.
void schedule_call(const Program& program, Kernel& kernel, const Target& target);

}  // namespace sinter
