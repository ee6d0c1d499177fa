// The memory through which sections of a horizontally fused kernel depend on one another.
#pragma once

#include <set>
#include <vector>

#include "compiler/program/kernel.h"

namespace sinter {

/// The buffers that one section of `fused` writes and another one reads or writes. A buffer with
/// sub-buffers counts as one, and all of them are in the result.
std::set<int> exchanged_buffers(const Program& program, const Kernel& fused);
/// For each phase of `fused`, the buffers that sections of later phases write, with sub-buffers.
std::vector<std::set<int>> overwritten_buffers(const Program& program, const Kernel& fused);

}  // namespace sinter
