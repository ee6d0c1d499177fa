// What the sections of a horizontally fused kernel hand to one another.
#pragma once

#include <set>

#include "compiler/plan.h"

namespace sinter {

/// The buffers that a section writes and another one touches, all their parts included.
std::set<int> exchanged_buffers(const Program& program, const Kernel& joined);

}  // namespace sinter
