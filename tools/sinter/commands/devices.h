// `sinter devices`: what programs can run on, and what is missing; `sinter version`: what this is,
// and what it finds.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

void declare_devices(CLI::App& app, Command& chosen);
void declare_version(CLI::App& app, Command& chosen);

}  // namespace sinter::command
