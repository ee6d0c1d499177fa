// `sinter ops`: lists the ops and composites of the text form.
#pragma once

#include "tools/sinter/commands/command.h"

namespace sinter::command {

struct OpsArguments {
  bool json = false;
};

void ops(const OpsArguments& arguments);

void declare_ops(CLI::App& app, Action& action);

}  // namespace sinter::command
