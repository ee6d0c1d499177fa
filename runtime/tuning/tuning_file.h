// The format of a tuning file: `sinter tuning 1` with the SHA-256 of the rest, and JSON.
#pragma once

#include <string>
#include <string_view>

#include "runtime/tuning/tuning_text.h"

namespace sinter {

std::string pack_tuning_file(const StoredTunings& tunings);
/// `problem` says what is wrong with the file and what to do; empty: nothing is.
ParsedTunings unpack_tuning_file(std::string_view file);

}  // namespace sinter
