// `sinter devices`: lists devices and tools. `sinter version`: prints the version and the tools
// found.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

void declare_devices(CLI::App& app, Action& action);
void declare_version(CLI::App& app, Action& action);

}  // namespace sinter::command
