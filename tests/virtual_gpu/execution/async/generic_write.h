// note_generic_writes: the rules of asynchronous kernels for ordinary writes.
#pragma once

#include "tests/virtual_gpu/execution/check_access.h"

namespace sinter::virtual_gpu {

/// The active lanes wrote `bytes` bytes each. Throws a Violation if they hold an mbarrier. Later
/// bulk copies need a proxy fence.
void note_generic_writes(const Warp& warp, const Operation& operation, const Places& places,
                         int bytes);

}  // namespace sinter::virtual_gpu
