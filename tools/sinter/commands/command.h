// What a command is to the program: it adds itself to the app, and becomes what is to be done.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace sinter::command {

/// Returns true if it worked.
using Command = std::function<bool()>;

/// Adds a command and its options to `app`. Where the words of the call choose it, parsing them
/// puts what is to be done into `chosen`.
using Declare = void (*)(CLI::App& app, Command& chosen);

}  // namespace sinter::command
