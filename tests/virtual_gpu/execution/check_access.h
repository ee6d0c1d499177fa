// The checks of a memory instruction: initialised bytes and races.
#pragma once

#include <span>

#include "tests/virtual_gpu/execution/resolve_address.h"

namespace sinter::virtual_gpu {

using Places = std::array<Place, kLanes>;

/// Checks the accesses of all active lanes, of `bytes` bytes each, and records them.
void check_access(const Warp& warp, const Operation& operation, const Places& places, int bytes);

}  // namespace sinter::virtual_gpu
