// What the members of a joined kernel hand to one another.
#pragma once

#include <set>

#include "compiler/plan.h"

namespace sinter {

/// The buffers that a member writes and another one touches, all their parts included.
std::set<int> exchanged_buffers(const Program& program, const Kernel& joined);

}  // namespace sinter
