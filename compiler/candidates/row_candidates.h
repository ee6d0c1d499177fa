// How the rows of a reduction may be dealt out to threads, blocks and clusters.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// The heuristic's own choice first. `split`: parts of a row are dealt out to blocks, of which the
/// last one finishes.
std::vector<Schedule> row_candidates(const Body& body, const Target& target, const Facts& facts,
                                     bool split);

}  // namespace sinter
