// Turns groups into a Program: buffers, ordered kernels, dependencies, in-place updates and
// boundaries.
#pragma once

#include <functional>
#include <string>

#include "compiler/fusion/group.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// Explains why two groups are separate kernels, and what one kernel would save.
struct BoundaryInfo {
  std::function<std::string(int producer, int consumer)> reason;  ///< why they are separate
  std::function<double(int producer, int consumer)> bytes;        ///< that one would not move
};

/// Fills in everything of `program` but the schedules; `program.graph` is set.
void assemble(Program& program, const Groups& groups, const BoundaryInfo& boundaries);

}  // namespace sinter
