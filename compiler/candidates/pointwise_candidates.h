// Schedules of kernels that reduce nothing.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// Enough loads in flight first, but small tensors are spread over all SMs, and few waves are
/// whole.
std::vector<Schedule> pointwise_candidates(const Body& body, const Target& target,
                                           const Facts& facts);

}  // namespace sinter
