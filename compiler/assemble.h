// Groups → Program: buffers, kernels in order, dependencies, updates in place, boundaries.
#pragma once

#include <functional>
#include <string>

#include "compiler/group.h"
#include "compiler/kernel.h"

namespace sinter {

/// Fills in everything of `program` but the schedules; `program.graph` is set. `reason(producer,
/// consumer)` says why two groups are two.
void assemble(Program& program, const Groups& groups,
              const std::function<std::string(int producer, int consumer)>& reason);

}  // namespace sinter
