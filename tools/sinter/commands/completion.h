// `sinter completion`: prints shell completion scripts, made from the command declarations.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

/// Must be declared after all other commands.
void declare_completion(CLI::App& app, Action& action);

}  // namespace sinter::command
