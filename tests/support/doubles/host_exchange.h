// A collective of several ranks in host memory, for doubles of communicators.
#pragma once

#include <span>

#include "sinter/communicator.h"

namespace sinter::test {

/// The first call that does not match that of rank 0; null if all match.
const CollectiveCall* find_mismatch(std::span<const CollectiveCall* const> calls);

/// Carries out the collective whose calls on all ranks these are, by rank. It reduces in the order
/// of the ranks, and rounds after each of them.
void exchange_on_host(std::span<const CollectiveCall* const> calls);

}  // namespace sinter::test
