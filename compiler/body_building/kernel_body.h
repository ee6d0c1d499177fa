// The body of a kernel of a program, whose buffers say where everything lies.
#pragma once

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// What `kernel` stores, and where in memory.
std::vector<StoreRequest> stores_of(const Program& program, const Kernel& kernel);
/// What is asked of the body of `kernel`, as long as it and its `stores` are there.
BodyRequest request_of(const Program& program, const Kernel& kernel,
                       std::span<const StoreRequest> stores);
/// The body of `kernel` with its axes collapsed.
Body body_of(const Program& program, const Kernel& kernel);

}  // namespace sinter
