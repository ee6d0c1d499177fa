// Candidate schedules of pointwise kernels.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// The default has enough loads in flight, spreads small tensors over all SMs, and avoids a small
/// last wave.
std::vector<Schedule> pointwise_candidates(const Body& body, const Target& target,
                                           const Facts& facts);

}  // namespace sinter
