#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run.h"

namespace sinter::command {

void declare_run(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App& command =
      *app.add_subcommand("run", "Run a graph, or what compile wrote, on given or random inputs");
  command
      .add_option("FILE", arguments->graph.file,
                  "A graph in text form (- reads standard input), or what compile wrote")
      ->type_name("");
  add_sizes(command, arguments->graph.sizes);
  add_place(command, arguments->device, arguments->seed);
  command
      .add_option("--inputs", arguments->inputs,
                  "Inputs from .npy files; they also tell the sizes of symbols")
      ->type_name("NAME=FILE");
  command
      .add_option("--outputs", arguments->outputs,
                  "Write each output and updated input to NAME.npy in this folder")
      ->type_name("DIR");
  command
      .add_option("--repeat", arguments->repeat,
                  "Run so often on the same inputs: the bits must be equal")
      ->type_name("NUMBER")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  command.add_flag("--graph", arguments->graph_replay,
                   "Replay a CUDA Graph rather than launch kernel by kernel");
  command.add_flag("--check", arguments->check,
                   "Check the results by the oracle, and compare fused with unfused bits");
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer(
      "Example:\n  sinter run softmax.sinter --device host --size rows=64 --check\n"
      "  sinter run softmax.sinter --inputs x=x.npy --outputs results --repeat 20 --graph\n"
      "  sinter run softmax.sinterx --check");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      take_file(arguments->graph.file, arguments->inputs);
      settle(arguments->graph);
      return run(*arguments);
    };
  });
}

}  // namespace sinter::command
