// Several kernels in one launch: each a function, called by the blocks in turn.
#pragma once

#include "codegen/text/names.h"
#include "codegen/text/source.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The CUDA C++ of a horizontally fused kernel. Sections of a phase have blocks side by side;
/// between phases all blocks of the grid wait for one another, so that it must be launched as a
/// cooperative one.
Source write_fused_launch(const Program& program, const Kernel& kernel, const Schedule& schedule,
                          std::string_view entry, Naming naming);

}  // namespace sinter
