// Rules out candidates before they run, by figures of the compiler and of the plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/target/target.h"
#include "runtime/tuning/measure_candidates.h"

namespace sinter {

/// Figures of a compiled candidate at the sizes of a launch.
struct StaticEstimate {
  int spill_bytes = 0;               ///< per thread
  std::int64_t threads = 0;          ///< resident on the device
  std::int64_t bytes_in_flight = 0;  ///< of loads, on the whole device; 0: unknown
  std::int64_t bytes = 0;            ///< predicted traffic of a launch
};

/// Nothing if no GPU compiler has compiled the candidate, or its grid is empty.
std::optional<StaticEstimate> static_estimate(const Target& target, const TuneRequest& request,
                                              std::size_t candidate);

/// Why the candidate cannot be faster than the default `standard`; empty if it may be. In doubt the
/// result is empty: a measurement costs milliseconds, but a lost candidate costs every run.
std::string skip_reason(const StaticEstimate& candidate, const StaticEstimate& standard,
                        const Target& target);

}  // namespace sinter
