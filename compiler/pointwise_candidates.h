// How kernels without a reduction may go through their space.
#pragma once

#include <vector>

#include "compiler/body.h"
#include "compiler/kernel.h"
#include "compiler/target.h"

namespace sinter {

/// Schedules without tiles, the heuristic's own choice first.
std::vector<Schedule> pointwise_candidates(const Body& body, const Target& target,
                                           const Facts& facts);

}  // namespace sinter
