// What is seen of a candidate before it runs: some are not worth measuring.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/target/target.h"
#include "runtime/tuning/autotune.h"

namespace sinter {

/// What the compiler made of a candidate, at the sizes of a launch.
struct StaticFigures {
  int spill_bytes = 0;               ///< per thread
  std::int64_t threads = 0;          ///< on the device at once
  std::int64_t bytes_in_flight = 0;  ///< of loads on the device at once; 0: not known
  std::int64_t bytes = 0;            ///< that a launch is predicted to move
};

/// Nothing where no compiler for GPUs has seen the candidate.
std::optional<StaticFigures> static_figures(const Target& target, const TuneRequest& request,
                                            std::size_t candidate);

/// Why a candidate cannot be faster than the default; empty: it may be. In doubt it may: a
/// measurement costs milliseconds, and a candidate that is never tried costs for ever.
std::string why_hopeless(const StaticFigures& candidate, const StaticFigures& standard,
                         const Target& target);

}  // namespace sinter
