// The format of stored timings: JSON in disk cache entries; in tuning files after a line
// `sinter tuning 1 SHA-256`, with the hash of the JSON. Reading ends with valid timings or with a
// sentence that says what is wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tuning/candidate_timings.h"

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
  std::optional<StoredTunings> tunings = {};
  std::string problem = {};  ///< `tunings kernels 12ab34cd… 0 numbers: not a list`
};

ParsedTunings parse_tunings(std::string_view text);

std::string pack_tuning_file(const StoredTunings& tunings);
/// `problem` says what is wrong with the file and what to do; empty: the file is valid.
ParsedTunings unpack_tuning_file(std::string_view file);

}  // namespace sinter
