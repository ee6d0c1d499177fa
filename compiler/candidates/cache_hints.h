// Cache hints: which loads may stream through the caches, and which schedules use hints.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// The last pass over the reduced axis that loads each value of `body` from memory. It is -1 for
/// values that are no loads, and for loads that may read an element several times per pass.
std::vector<int> last_reads(const Body& body, const Schedule& schedule);

/// Inserts a copy of the first schedule with hints after it, if the kernel moves at least a quarter
/// of the L2 cache. Scatters get no hints.
std::vector<Schedule> with_cache_hints(std::vector<Schedule> schedules, const Body& body,
                                       const Target& target, const Facts& facts);

}  // namespace sinter
