// Finds the buffers through which sections of a horizontally fused kernel depend on one another.
#pragma once

#include <set>

#include "compiler/plan.h"

namespace sinter {

/// The buffers that one section writes and another one reads or writes. A buffer with sub-buffers
/// counts as one, and all of them are in the result.
std::set<int> exchanged_buffers(const Program& program, const Kernel& fused);

}  // namespace sinter
