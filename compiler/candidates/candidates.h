// The candidate schedules of a kernel: the heuristic's choice, and variations of it.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// At most a dozen legal schedules, the heuristic's choice first (docs/internals/schedules.md).
std::vector<Schedule> candidates(KernelKind kind, const Body& body, const Target& target,
                                 const Facts& facts);

}  // namespace sinter
