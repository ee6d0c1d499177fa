// The scheduling pass: decides how each kernel runs on a target, and which candidates tuning may
// try.
#pragma once

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Fills in kind, schedule, candidates and notes of all kernels. Adds the guards that they rely on
/// to `program`.
void schedule(Program& program, const Target& target);

}  // namespace sinter
