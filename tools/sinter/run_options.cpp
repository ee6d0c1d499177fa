#include "tools/sinter/options.h"
#include "tools/sinter/run.h"

namespace sinter::command {

void declare_run(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand("run", "Run a graph on random inputs");
  add_graph(command, arguments->graph);
  add_place(command, arguments->device, arguments->seed);
  command.add_flag("--check", arguments->check,
                   "Judge the results by the oracle, and compare fused with unfused bits");
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter run softmax.sinter --device host --size rows=64 --check");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      return run(*arguments);
    };
  });
}

}  // namespace sinter::command
