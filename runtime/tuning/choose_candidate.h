// Which candidate of a kernel is taken: the one that facts speak for, and where there are none,
// that a measurement does.
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "runtime/tuning/autotune.h"
#include "runtime/tuning/tuning_facts.h"

namespace sinter {

/// What decides, beside a kernel and its sizes, how long it takes: `NVIDIA H200, 132 SMs, driver
/// 12.8`.
std::string machine_of(const DeviceState& device);

/// What there is to know of a kernel before anything is measured.
TuningQuestion question_of(DeviceState& device, const Target& target, const TuneRequest& request,
                           const Options& options);

/// Looks up what is known of the kernel's candidates, here and in the disk cache, measures what is
/// not, and tells both. A kernel that was tuned for a size near this one is not measured again,
/// except by Tune::wide.
TuneResult choose_candidate(DeviceState& device, const Target& target, const TuneRequest& request,
                            const Options& options);

}  // namespace sinter
