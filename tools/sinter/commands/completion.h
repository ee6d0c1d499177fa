// `sinter completion`: what shells complete words of the command with, from the declarations.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

/// To be called after all other commands.
void declare_completion(CLI::App& app, Command& chosen);

}  // namespace sinter::command
