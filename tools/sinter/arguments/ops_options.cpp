#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/ops.h"

namespace sinter::command {

void declare_ops(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App& command = *app.add_subcommand("ops", "List the ops that graphs are made of");
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter ops");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      ops(*arguments);
      return true;
    };
  });
}

}  // namespace sinter::command
