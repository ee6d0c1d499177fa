// Groups → Program: buffers, kernels in order, dependencies, updates in place, boundaries.
#pragma once

#include <functional>
#include <string>

#include "compiler/fusion/group.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// What is to be said of two groups.
struct Apart {
  std::function<std::string(int producer, int consumer)> reason;  ///< why they are two
  std::function<double(int producer, int consumer)> bytes;        ///< that one would not move
};

/// Fills in everything of `program` but the schedules; `program.graph` is set.
void assemble(Program& program, const Groups& groups, const Apart& apart);

}  // namespace sinter
