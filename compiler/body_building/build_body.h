// Builds the body of a kernel.
#pragma once

#include "compiler/body/body_request.h"

namespace sinter {

/// Builds the body that computes `request.nodes` and stores `request.stores`. It reads all other
/// values from memory. `names` gives value names for messages.
BodyAnswer build_body(const BodyRequest& request, const NodeNames& names);

}  // namespace sinter
