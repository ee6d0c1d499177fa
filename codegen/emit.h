// Kernel + Schedule → Source.
#pragma once

#include "codegen/source.h"
#include "compiler/kernel.h"

namespace sinter {

/// The CUDA C++ of `kernel` under `schedule`. `entry` names the function. Same arguments, same
/// text.
Source emit(const Program& program, const Kernel& kernel, const Schedule& schedule,
            std::string_view entry);

}  // namespace sinter
