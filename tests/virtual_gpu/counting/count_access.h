// Counts the accesses of memory instructions: sectors, wavefronts and distinct bytes.
#pragma once

#include "tests/virtual_gpu/execution/check_access.h"

namespace sinter::virtual_gpu {

/// Adds the accesses of all active lanes, of `bytes` bytes each, to the counts of the launch. All
/// are in one space.
void count_access(const Warp& warp, const Operation& operation, const Places& places, int bytes);

}  // namespace sinter::virtual_gpu
