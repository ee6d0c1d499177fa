// Facts about kernels as JSON, the contents of tuning files and disk cache entries. Reading ends
// with valid facts or with a sentence that says what is wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tuning/tuning_facts.h"

namespace sinter {

/// By the hash of each kernel.
using TuningsByKernel = std::map<std::string, KernelTunings>;

/// The contents of a tuning file, or of a disk cache entry for one kernel.
struct StoredTunings {
  std::string machine;  ///< of the measurements
  TuningsByKernel kernels;

  friend bool operator==(const StoredTunings&, const StoredTunings&) = default;
};

std::string to_text(const StoredTunings& tunings);

struct ParsedTunings {
  std::optional<StoredTunings> tunings;
  std::string problem;  ///< `tunings kernels 12ab34cd… 0 numbers: not a list`
};

ParsedTunings parse_tunings(std::string_view text);

}  // namespace sinter
