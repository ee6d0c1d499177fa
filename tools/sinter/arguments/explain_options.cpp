#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/explain.h"

namespace sinter::command {

void declare_explain(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& command =
      *app.add_subcommand("explain", "Say which kernels a graph becomes, why, and what they cost");
  add_graph(command, arguments->graph);
  command
      .add_option("--arch", arguments->arch,
                  "The GPU to plan and compile for: sm_80, h200, ...; default: sm_90, or the GPU "
                  "that is measured")
      ->type_name("ARCH");
  add_numerics(command, arguments->numerics);
  CLI::Option* const measure =
      command.add_flag("--measure", arguments->measure,
                       "Tune on a device, and time each kernel beside a copy of as many bytes");
  add_place(command, arguments->device, arguments->seed);
  command.add_option("--repeats", arguments->repeats, "Timed launches of each kernel")
      ->type_name("NUMBER")
      ->transform(whole_number(1, kMostRepeats))
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
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      explain(*arguments);
      return true;
    };
  });
}

}  // namespace sinter::command
