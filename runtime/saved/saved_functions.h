// What a saved executable calls of the user's: found among the functions of the loading process.
#pragma once

#include <string>

#include "runtime/execution/opaque_call.h"
#include "runtime/saved/read_saved.h"

namespace sinter {

/// Those that `saved` names. Throws UserError where one is not registered, or as another version
/// than that it was saved with; `path` is for messages.
OpaqueFunctions find_functions(const SavedExecutable& saved, const std::string& path);

}  // namespace sinter
