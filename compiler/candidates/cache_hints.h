// Which loads are told to the caches as streams, and which schedules say so.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// Of each value of `body`: the last pass over the reduced axis that reads it from memory, if it is
/// a load each element of which is read by one thread once per pass; else -1.
std::vector<int> last_reads(const Body& body, const Schedule& schedule);

/// Behind the first of `schedules` the same with hints, where more than a quarter of the L2 cache
/// is moved.
std::vector<Schedule> with_cache_hints(std::vector<Schedule> schedules, const Body& body,
                                       const Target& target, const Facts& facts);

}  // namespace sinter
