// Emits several kernels as one launch. Each of them is a function that the blocks call.
#pragma once

#include "codegen/text/names.h"
#include "codegen/text/source.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The CUDA C++ of a horizontally fused kernel. The sections of a phase have adjacent ranges of
/// blocks. A grid barrier separates phases, which makes the launch cooperative. If the kernel has a
/// tail, its last block runs the later phases instead.
Source write_fused_launch(const Program& program, const Kernel& kernel, const Schedule& schedule,
                          std::string_view entry, Naming naming);

}  // namespace sinter
