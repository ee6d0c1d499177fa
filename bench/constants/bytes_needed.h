// Inverts the planner's model of bandwidth: from measured times to the bytes in flight needed.
#pragma once

#include <cmath>
#include <vector>

#include "runtime/support/quartiles.h"

namespace sinter::constants {

/// A run with a number of bytes in flight per SM, and its time relative to the fastest run.
struct RunInFlight {
  double bytes_in_flight = 0;
  double relative_time = 1;
};

/// The bytes in flight per SM that reach full bandwidth, by reached_bandwidth of
/// compiler/target/wave_quantization.h. 0 if no run was slower than the fastest.
inline double bytes_needed(const std::vector<RunInFlight>& runs) {
  // Small differences are noise, and large ones are outside of the model.
  constexpr double kLeast = 1.05, kMost = 2.5;
  std::vector<double> estimates;
  for (const RunInFlight& run : runs)
    if (run.relative_time >= kLeast && run.relative_time <= kMost)
      estimates.push_back(run.bytes_in_flight / (1 - std::sqrt(1 - 1 / run.relative_time)));
  return quartiles_of(std::move(estimates)).median;
}

}  // namespace sinter::constants
