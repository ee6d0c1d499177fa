// Updates the boundaries of a program after horizontal fusion.
#pragma once

#include <span>
#include <string>

#include "compiler/program/kernel.h"

namespace sinter {

/// The launch and section of each kernel.
struct LaunchPlan {
  std::span<const int> launch_of;         ///< by kernel
  std::span<const int> section_of;        ///< by kernel: its index in the launch
  std::span<const std::string> names;     ///< of launches
  std::span<const std::string> refusals;  ///< by launch: why it is not merged with the one before
};

/// Renames the sides of all boundaries to launches, or to sections for boundaries inside a launch.
/// Appends the reason why consecutive launches are separate. Merges boundaries that have become
/// equal. Needs: kernels with the names that boundaries use.
void explain_boundaries(Program& program, const LaunchPlan& launches);

}  // namespace sinter
