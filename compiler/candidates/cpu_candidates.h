// The candidate schedules for the CPU of the host device.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// Schedules with blocks of one thread, whose vectors are long (Schedule::is_for_cpu). Rows stay on
/// the stack between passes, so no thread waits for another one.
std::vector<Schedule> cpu_candidates(KernelKind kind, const Body& body, const Target& target,
                                     const Facts& facts);

}  // namespace sinter
