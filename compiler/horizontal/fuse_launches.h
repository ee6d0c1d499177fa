// Joining: kernels of a program become parts of one launch. Sections that need nothing of one
// another run side by side; what needs a section's results comes in a later phase, behind a barrier
// of the whole grid. Little work at the end is left to the last block, so that nobody waits.
#pragma once

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Joins the scheduled kernels of `program` wherever that is predicted to be faster. Boundaries
/// that stay say why.
void fuse_launches(Program& program, const Target& target);

}  // namespace sinter
