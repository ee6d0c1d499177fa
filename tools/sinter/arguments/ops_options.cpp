#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/ops.h"

namespace sinter::command {

void declare_ops(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App& command = *app.add_subcommand("ops", "List the ops and composites of the text form");
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter ops");
  set_action(command, action, arguments, ops);
}

}  // namespace sinter::command
