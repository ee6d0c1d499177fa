// Chooses the candidate of a kernel: from known timings, and from measurements if some are missing.
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "runtime/tuning/candidate_timings.h"
#include "runtime/tuning/measure_candidates.h"

namespace sinter {

/// The machine, as part of the key of timings: `NVIDIA H200, 132 SMs, driver 12.8`. On the host
/// device the number of hardware threads replaces that of SMs.
std::string machine_of(const DeviceState& device);

/// The candidates of a kernel, with everything that is known without measuring.
TuningQuery query_of(DeviceState& device, const Target& target, const TuneRequest& request,
                     const Options& options);

/// Looks up the timings of the kernel's candidates in memory and in the disk cache, measures the
/// missing ones, and stores them in both. A kernel that was tuned for a near size is not measured
/// again, except by Tune::wide. With `Options::force_candidate` that candidate is taken unmeasured.
TuneResult choose_candidate(DeviceState& device, const Target& target, const TuneRequest& request,
                            const Options& options);

}  // namespace sinter
