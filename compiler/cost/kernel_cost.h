// Predicted cost of a kernel of a scheduled program, which may be several joined into one launch.
#pragma once

#include "compiler/cost/cost.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// One launch at the program's sizes: all sections, and the barriers between their phases.
Cost cost_of(const Program& program, const Kernel& kernel, const Target& target);

}  // namespace sinter
