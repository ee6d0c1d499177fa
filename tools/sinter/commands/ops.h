// `sinter ops`: the ops and composites that the text form knows.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

struct OpsArguments {
  bool json = false;
};

void ops(const OpsArguments& arguments);

void declare_ops(CLI::App& app, Command& chosen);

}  // namespace sinter::command
