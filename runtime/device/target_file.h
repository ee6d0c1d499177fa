// Reads target files: constants of a GPU that bench/measure_gpu measured, in place of the
// planner's assumptions.
#pragma once

#include <string>
#include <string_view>

#include "compiler/target/target.h"

namespace sinter {

/// The value of `schema` in a target file.
inline constexpr std::string_view kTargetFileSchema = "sinter-target-1";

/// `target` with the constants that `text` states. `name` is the name of the file, for errors.
/// Throws UserError if the text is not a target file, or if it belongs to another GPU. Throws it,
/// too, if a constant does not exist or is out of range.
Target with_constants(Target target, std::string_view text, const std::string& name);

/// `target` with the constants in the file (Options::target_file); unchanged if `path` is empty.
/// Unchanged for the CPU too, because the files describe GPUs.
/// Throws UserError, also if the file cannot be read.
Target with_target_file(const Target& target, const std::string& path);

}  // namespace sinter
