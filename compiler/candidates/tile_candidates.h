// Schedules of pointwise kernels that move some of what they read or write through tiles.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// `direct`, the candidates without tiles, and beside them some with tiles where these ask for
/// fewer sectors: in front, if for so many fewer that the way through shared memory pays.
std::vector<Schedule> with_tiles(std::vector<Schedule> direct, const Body& body,
                                 const Target& target, const Facts& facts);

}  // namespace sinter
