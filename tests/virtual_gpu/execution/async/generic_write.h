// note_generic_writes, note_generic_reads: the rules of asynchronous kernels for ordinary accesses.
#pragma once

#include "tests/virtual_gpu/execution/check_access.h"

namespace sinter::virtual_gpu {

/// The active lanes wrote `bytes` bytes each. Throws a Violation if they hold an mbarrier. Later
/// bulk copies need a proxy fence.
void note_generic_writes(const Warp& warp, const Operation& operation, const Places& places,
                         int bytes);
/// The active lanes read `bytes` bytes each. Bulk copies that overwrite shared memory need a proxy
/// fence of each reader.
void note_generic_reads(const Warp& warp, const Operation& operation, const Places& places,
                        int bytes);

}  // namespace sinter::virtual_gpu
