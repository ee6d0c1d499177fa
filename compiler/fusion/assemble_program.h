// Turns groups into a Program: buffers, ordered kernels, dependencies, in-place updates and
// boundaries.
#pragma once

#include "compiler/fusion/greedy_fuser.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// Fills in everything of `program` but the schedules, from the groups of `fuser`. `program.graph`
/// is set. `fuses`: false if `fuser` has merged nothing, because fusion is off.
void assemble(Program& program, GreedyFuser& fuser, bool fuses);

}  // namespace sinter
