// The default schedule of a kernel, judged by the oracle: all other candidates are held against it
// bit by bit.
#pragma once

#include <string>

#include "runtime/tuning/autotune.h"

namespace sinter {

struct DefaultVerification {
  std::string reason;  ///< it could not be judged; empty: it was
  bool passes = true;  ///< all results are within the oracle's bounds
  std::string says;    ///< of which sizes and results, in one line
};

/// Runs the first source of `request` on random numbers at the smallest sizes of its class, as far
/// as these are found, and holds the results against the oracle's bounds. Kernels that are large at
/// any size of their class are not judged.
DefaultVerification verify_default_schedule(DeviceState& device, const TuneRequest& request);

}  // namespace sinter
