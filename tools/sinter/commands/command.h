// The interface of a command: it declares itself to CLI11, and sets the action to run.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace sinter::command {

/// The action of a command. Returns true on success.
using Action = std::function<bool()>;

/// Adds a command and its options to `app`. If the command line selects the command, parsing stores
/// its action in `action`.
using Declare = void (*)(CLI::App& app, Action& action);

}  // namespace sinter::command
