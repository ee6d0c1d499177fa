// The order of a program's kernels.
#pragma once

#include "compiler/program/kernel.h"

namespace sinter {

/// Puts kernels in an order that keeps the edges which updates added.
void sort_kernels(Program& program);

}  // namespace sinter
