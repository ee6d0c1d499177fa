// `sinter manual`: the man page, from the declarations of commands and the table of options.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

void declare_manual(CLI::App& app, Command& chosen);

}  // namespace sinter::command
