// Measures how well the warps of a pointwise kernel coalesce their accesses, in sectors of 32
// bytes.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// Sectors that the warps of a kernel request. Like a profiler, this counts each load and store
/// instruction separately, including repeated requests that the L1 cache serves.
struct Sectors {
  double requested = 0;
  double minimum = 0;  ///< if the bytes of each instruction were contiguous
};

/// Warps that sectors_of counts by default. More would make planning slow.
inline constexpr std::int64_t kSampledWarps = 16;

/// The sectors of a pointwise `body` under `schedule`, for the sizes of `facts`. Exact for kernels
/// of at most `samples` warps, else estimated from that many. Ignores loads and stores with
/// data-dependent addresses, and assumes that data-dependent conditions hold.
Sectors sectors_of(const Body& body, const Schedule& schedule, const Facts& facts,
                   std::int64_t samples = kSampledWarps);

}  // namespace sinter
