// The schedules of kernels that reduce columns.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// The one that is expected to keep the memory busiest comes first.
std::vector<Schedule> column_candidates(const Body& body, const Target& target, const Facts& facts);

}  // namespace sinter
