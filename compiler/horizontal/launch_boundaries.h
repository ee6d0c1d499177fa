// What joining makes of the boundaries between kernels.
#pragma once

#include <span>
#include <string>

#include "compiler/program/kernel.h"

namespace sinter {

/// Where the kernels of a program come to stand.
struct Launched {
  std::span<const int> launch_of;         ///< by kernel
  std::span<const int> section_of;        ///< by kernel, its number among those of its launch
  std::span<const std::string> names;     ///< of launches
  std::span<const std::string> refusals;  ///< why a launch is not one with the one before
};

/// Boundaries between launches tell why nothing was joined as well; those inside stay, since they
/// are why there are sections. Kernels still have the names that boundaries know them by.
void explain_boundaries(Program& program, const Launched& launched);

}  // namespace sinter
