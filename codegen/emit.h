// Emits a kernel and its schedule as CUDA C++.
#pragma once

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The CUDA C++ of `kernel` under `schedule`. `entry` names the function. Equal arguments give
/// equal text, byte for byte.
Source emit(const Program& program, const Kernel& kernel, const Schedule& schedule,
            std::string_view entry);

/// The same code with generic names and without comments from the graph. Kernels with equal
/// anonymous text compute the same function of their arguments, so they are compiled once.
std::string anonymous_text(const Program& program, const Kernel& kernel, const Schedule& schedule);

}  // namespace sinter
