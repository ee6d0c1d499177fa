// The commands. Each declares itself and its options to CLI11, and sets the action to run.
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
using Declare = void(CLI::App& app, Action& action);

Declare declare_bench;
Declare declare_cache;
Declare declare_compile;
Declare declare_completion;
Declare declare_corpus;
Declare declare_devices;
Declare declare_dump;
Declare declare_explain;
Declare declare_import;
Declare declare_manual;
Declare declare_ops;
Declare declare_profile;
Declare declare_quantize;
Declare declare_run;
Declare declare_tune;
Declare declare_version;

}  // namespace sinter::command
