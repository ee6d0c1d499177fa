// Builds the bodies of kernels.
#pragma once

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// Builds the body that computes `request.nodes` and stores `request.stores`. It reads all other
/// values from memory. `names` gives value names for messages.
BodyAnswer build_body(const BodyRequest& request, const NodeNames& names);

/// The values that `kernel` stores, with their layouts in memory.
std::vector<StoreRequest> stores_of(const Program& program, const Kernel& kernel);
/// The body request of `kernel`; valid as long as `kernel` and its `stores` exist.
BodyRequest request_of(const Program& program, const Kernel& kernel,
                       std::span<const StoreRequest> stores);
/// The body of `kernel` with its axes collapsed.
Body body_of(const Program& program, const Kernel& kernel);

}  // namespace sinter
