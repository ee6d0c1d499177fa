// Builds bodies.
#pragma once

#include "compiler/body/body_request.h"

namespace sinter {

/// The body that computes `request.nodes` and stores `request.stores`, where everything else is
/// read from memory. `names` gives the words of messages.
BodyAnswer build_body(const BodyRequest& request, const NodeNames& names);

}  // namespace sinter
