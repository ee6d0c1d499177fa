// Kernel + Schedule → Source.
#pragma once

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The CUDA C++ of `kernel` under `schedule`. `entry` names the function. Same arguments, same
/// text.
Source emit(const Program& program, const Kernel& kernel, const Schedule& schedule,
            std::string_view entry);

/// The same code without any name or comment that comes from the graph: kernels with the same one
/// compute the same of their arguments, whatever these are called.
std::string anonymous_text(const Program& program, const Kernel& kernel, const Schedule& schedule);

}  // namespace sinter
