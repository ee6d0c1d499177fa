#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/tune.h"

namespace sinter::command {

void declare_tune(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App& command = *app.add_subcommand(
      "tune", "Measure each kernel's candidates, and report the choice and its reason");
  add_graph(command, arguments->graph);
  add_device(command, arguments->device);
  add_numerics(command, arguments->numerics);
  command.add_flag("--wide", arguments->wide, "Measure longer, at exactly these sizes");
  add_quiet(command, arguments->quiet);
  command.add_flag("--table", arguments->table, "Print a line for every candidate");
  command.add_option("--import", arguments->import_file, "Import timings from this file first")
      ->type_name("FILE");
  command
      .add_option("--export", arguments->export_file,
                  "Write all timings to this file, for machines of the same kind")
      ->type_name("FILE");
  command.footer("Example:\n  sinter tune softmax.sinter --size rows=8192 --wide --table");
  set_graph_action(command, action, arguments, tune);
}

}  // namespace sinter::command
