// Sorts the kernels of a program by their dependencies.
#pragma once

#include "compiler/program/kernel.h"

namespace sinter {

/// Reorders kernels so that the dependencies added by updates hold, and so that each collective
/// begins as soon as its operand is ready.
void sort_kernels(Program& program);

}  // namespace sinter
