// Prints programs as text, for the dumps of the stages fuse and schedule.
#pragma once

#include "compiler/program/kernel.h"

#include <string>

namespace sinter {

/// Prints kernels with their statements, stores, dependencies and schedules; boundaries with their
/// reasons; guards. Kind, iteration space and schedule are printed only for scheduled kernels.
std::string print(const Program& program);

/// Formats `bytes` with a unit.
std::string bytes_text(double bytes);

}  // namespace sinter
