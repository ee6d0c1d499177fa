// Checks of a collective's description, which may come from a damaged file.
#pragma once

#include "sinter/communicator.h"
#include "sinter/opaque.h"

namespace sinter {

/// Throws UserError unless the call has one operand and one result, of sizes and with attributes
/// that the collective permits.
void check_description(Collective kind, const OpaqueSizes& sizes);

}  // namespace sinter
