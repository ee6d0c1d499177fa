// Candidate schedules of pointwise kernels with tiles in shared memory (transpose_tiles.h).
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Adds candidates with tiles to `direct`, the candidates without tiles, if tiles request fewer
/// sectors. They come first if they save enough sectors to pay for the way through shared memory.
std::vector<Schedule> with_tiles(std::vector<Schedule> direct, const Body& body,
                                 const Target& target, const Facts& facts);

}  // namespace sinter
