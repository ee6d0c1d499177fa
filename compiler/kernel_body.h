// The body of a kernel of a program, whose buffers say where everything lies.
#pragma once

#include "compiler/body.h"
#include "compiler/kernel.h"

namespace sinter {

/// The body of `kernel` with its axes collapsed.
Body body_of(const Program& program, const Kernel& kernel);

}  // namespace sinter
