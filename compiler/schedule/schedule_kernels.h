// Scheduling: how each kernel runs on a target, and the candidates that tuning may try.
#pragma once

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Fills in kind, schedule, candidates and notes of all kernels, and adds to `program` the guards
/// that they rely on.
void schedule(Program& program, const Target& target);

}  // namespace sinter
