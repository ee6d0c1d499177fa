// Copies and fills of memory by the driver, with the checks that kernels have too.
#pragma once

#include "tests/virtual_gpu/driver/machine.h"

namespace sinter::virtual_gpu::driver {

/// The allocation that contains all of the range. Null if the range is not in live memory that a
/// device can access.
Allocation* find_range(GlobalMemory& memory, std::uint64_t address, std::size_t bytes);

/// Does the work of the task, and gives it a serial number. Throws Violation on a race or on memory
/// that was freed.
void run_copy(Machine& machine, Task& task, const Copy& copy);
void run_fill(Machine& machine, Task& task, const Fill& fill);
/// The begin and the end of a stream-ordered allocation: accesses that are not ordered behind the
/// begin and before the end are races.
void run_pool_allocation(Machine& machine, Task& task, const PoolAllocation& work);
void run_pool_release(Machine& machine, Task& task, const PoolRelease& work);

}  // namespace sinter::virtual_gpu::driver
