// resolve_range: the places of a warp's lanes that access one allocation.
#pragma once

#include "tests/virtual_gpu/execution/check_access.h"

namespace sinter::virtual_gpu {

/// Finds the places of all active lanes if they are in one allocation or in the shared memory of
/// one block. Returns false if they are not, or if an address is not valid: resolve() then gives
/// the places one by one.
bool resolve_range(const Warp& warp, const Operation& operation, const LaneAddresses& addresses,
                   int bytes, Places& places);

}  // namespace sinter::virtual_gpu
