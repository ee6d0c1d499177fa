// Prints programs as text, for the dumps of the stages fuse and schedule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/program/kernel.h"

namespace sinter {

/// Prints kernels with their statements, stores, dependencies and schedules; boundaries with their
/// reasons; guards. Kind, iteration space and schedule are printed only for scheduled kernels.
std::string print(const Program& program);

/// `1 kernel`, `2 kernels`
std::string counted(std::int64_t number, std::string_view what);

/// Formats `bytes` with a unit.
std::string bytes_text(double bytes);

}  // namespace sinter
