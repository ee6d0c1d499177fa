// Candidate schedules of row kernels: how rows are distributed over threads, blocks and clusters.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// The heuristic's choice comes first. `split`: the parts of a row are distributed over blocks, and
/// the last block finishes.
std::vector<Schedule> row_candidates(const Body& body, const Target& target, const Facts& facts,
                                     bool split);

}  // namespace sinter
