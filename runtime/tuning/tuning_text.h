// Facts about kernels as JSON, which is what files hold. Whatever a file says, reading it ends with
// facts that mean something or with a sentence.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tuning/tuning_facts.h"

namespace sinter {

/// By what decides each kernel.
using TuningsByKernel = std::map<std::string, KernelTunings>;

/// What a tuning file holds, and an entry of the disk cache for one kernel.
struct StoredTunings {
  std::string machine;  ///< that was measured
  TuningsByKernel kernels;

  friend bool operator==(const StoredTunings&, const StoredTunings&) = default;
};

std::string to_text(const StoredTunings& tunings);

struct ParsedTunings {
  std::optional<StoredTunings> tunings;
  std::string problem;  ///< `kernels 12ab… sizes 0 numbers: not a list of whole numbers`
};

ParsedTunings parse_tunings(std::string_view text);

}  // namespace sinter
