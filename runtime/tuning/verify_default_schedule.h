// Verifies the default schedule of a kernel with the oracle. Tuning compares the bits of all other
// candidates with the default.
#pragma once

#include <string>

#include "runtime/tuning/measure_candidates.h"

namespace sinter {

struct DefaultVerification {
  std::string reason;   ///< why it could not be verified; empty: it was
  bool passes = true;   ///< all results are within the oracle's bounds
  std::string summary;  ///< the sizes and results, in one line
};

/// Runs the first source of `request` on random numbers, at small sizes of its class, and compares
/// the results with the oracle's bounds. Kernels that are large at all sizes that it tries, have
/// custom ops, or round differently than the oracle are not verified.
DefaultVerification verify_default_schedule(DeviceState& device, const TuneRequest& request);

}  // namespace sinter
