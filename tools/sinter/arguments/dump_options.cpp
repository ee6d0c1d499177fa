#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/dump.h"

namespace sinter::command {

void declare_dump(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<DumpArguments>();
  CLI::App& command = *app.add_subcommand("dump", "Show the result of one compilation stage");
  add_graph(command, arguments->graph);
  command.add_option("--stage", arguments->stage, "The stage to show")
      ->type_name("STAGE")
      ->check(one_of(kDumpStages))
      ->capture_default_str();
  add_arch(command, arguments->arch);
  add_numerics(command, arguments->numerics);
  command.add_option("--kernel", arguments->kernel, "Only this kernel, by index (from 0) or name")
      ->type_name("KERNEL");
  command.add_option("-o,--output", arguments->directory, "Write files into this folder")
      ->type_name("DIR");
  command.footer(
      "Example:\n  sinter dump softmax.sinter --stage source --arch sm_90 --size rows=4096");
  set_graph_action(command, action, arguments, dump);
}

}  // namespace sinter::command
