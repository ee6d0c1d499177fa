// The format of a tuning file: a line `sinter tuning 1 SHA-256`, then JSON with that hash.
#pragma once

#include <string>
#include <string_view>

#include "runtime/tuning/tuning_text.h"

namespace sinter {

std::string pack_tuning_file(const StoredTunings& tunings);
/// `problem` says what is wrong with the file and what to do; empty: the file is valid.
ParsedTunings unpack_tuning_file(std::string_view file);

}  // namespace sinter
