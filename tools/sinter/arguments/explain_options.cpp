#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/explain.h"

namespace sinter::command {

void declare_explain(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& command =
      *app.add_subcommand("explain", "Explain a graph's kernels, their costs and their boundaries");
  add_graph(command, arguments->graph);
  command
      .add_option("--arch", arguments->arch,
                  "The GPU to plan and compile for: sm_80, h200, ...; default: sm_90, or the "
                  "measured GPU")
      ->type_name("ARCH");
  add_numerics(command, arguments->numerics);
  CLI::Option* const measure =
      command.add_flag("--measure", arguments->measure,
                       "Tune on a device, and time each kernel and a copy of the same bytes");
  add_device_and_seed(command, arguments->device, arguments->seed);
  command.add_option("--repeats", arguments->repeats, "Timed launches of each kernel")
      ->type_name("NUMBER")
      ->transform(whole_number(1, kMaxRepeats))
      ->capture_default_str();
  for (const char* option : {"--device", "--seed", "--repeats"})
    command.get_option(option)->needs(measure);
  add_quiet(command, arguments->quiet);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.add_option("--html", arguments->html, "Write one HTML page to this file")
      ->type_name("OUT");
  command.footer(
      "Example:\n  sinter explain softmax.sinter --size rows=4096 --arch sm_90\n"
      "  sinter explain softmax.sinter --size rows=4096 --measure --html softmax.html");
  set_graph_action(command, action, arguments, explain);
}

}  // namespace sinter::command
