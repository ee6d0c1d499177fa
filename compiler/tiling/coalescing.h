// How well a pointwise kernel's warps use memory: counted in sectors, the 32 bytes that come
// together (PERFORMANCE.md §5).
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/gpu_constants.h"

namespace sinter {

/// Sectors that the warps of a kernel ask for, every load and store instruction by itself: as a
/// profiler counts them, so that what the L1 cache still has is counted again.
struct Sectors {
  double asked = 0;
  double fewest = 0;  ///< if each instruction's bytes lay side by side
};

/// Of a pointwise `body` under `schedule`, for the sizes of `facts`: exact for kernels of few
/// warps, else from some that stand for all. Loads and stores whose address depends on data are
/// left out; conditions that do are taken to hold.
Sectors sectors_of(const Body& body, const Schedule& schedule, const Facts& facts);

}  // namespace sinter
