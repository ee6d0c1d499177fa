// The text of a program: what the dumps of the stages fuse and schedule show.
#pragma once

#include "compiler/program/kernel.h"

#include <string>

namespace sinter {

/// Kernels with their statements, stores, dependencies and schedules; boundaries with their
/// reasons; guards. Kind, space and schedule are shown of kernels that have been scheduled.
std::string print(const Program& program);

/// `bytes` in words.
std::string bytes_text(double bytes);

}  // namespace sinter
