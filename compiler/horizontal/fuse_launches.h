// Horizontal fusion: merges kernels of a program into one launch, as its sections. Independent
// sections run side by side. Dependent sections run in later phases, after a grid barrier. If
// little work is left, the last block runs the later phases alone, so that no block waits.
#pragma once

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Fuses the scheduled kernels of `program` into launches if that is predicted to be faster.
/// Adds the reasons to the boundaries between launches.
void fuse_launches(Program& program, const Target& target);

}  // namespace sinter
