// Resolves the user's functions that a saved executable calls, in the process that loads it.
#pragma once

#include <string>

#include "runtime/execution/opaque_call.h"
#include "runtime/saved/read_saved.h"

namespace sinter {

/// The registered functions that `saved` lists. Throws UserError if one is not registered, or only
/// with a version other than the saved one. `path` is for messages.
OpaqueFunctions find_functions(const SavedExecutable& saved, const std::string& path);

}  // namespace sinter
