// `sinter manual`: prints the man page, made from the command declarations and the option table.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

void declare_manual(CLI::App& app, Action& action);

}  // namespace sinter::command
