#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/profile.h"

namespace sinter::command {

void declare_profile(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App& command =
      *app.add_subcommand("profile", "Time each kernel of a graph, and a copy of the same bytes");
  add_graph(command, arguments->graph);
  add_device_and_seed(command, arguments->device, arguments->seed);
  command.add_option("--repeats", arguments->repeats, "Timed launches of each kernel")
      ->type_name("NUMBER")
      ->transform(whole_number(1, kMaxRepeats))
      ->capture_default_str();
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  add_quiet(command, arguments->quiet);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter profile softmax.sinter --size rows=8192");
  set_graph_action(command, action, arguments, profile);
}

}  // namespace sinter::command
