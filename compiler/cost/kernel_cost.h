// Predicts the cost of a kernel of a scheduled program, which may be horizontally fused.
#pragma once

#include "compiler/cost/cost.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The cost of one launch at the program's sizes: all sections, and the grid barriers between their
/// phases.
Cost cost_of(const Program& program, const Kernel& kernel, const Target& target);

}  // namespace sinter
