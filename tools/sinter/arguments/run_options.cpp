#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run.h"

namespace sinter::command {

void declare_run(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App& command =
      *app.add_subcommand("run", "Run a graph or a compiled file on given or random inputs");
  command
      .add_option("FILE", arguments->graph.file,
                  "A graph in text form (- reads standard input), or a compiled file")
      ->type_name("");
  add_sizes(command, arguments->graph.sizes);
  add_device_and_seed(command, arguments->device, arguments->seed);
  command
      .add_option("--inputs", arguments->inputs,
                  "Inputs from .npy files; their shapes also give the sizes of symbols")
      ->type_name("NAME=FILE");
  command
      .add_option("--outputs", arguments->outputs,
                  "Write each output and updated input to NAME.npy in this folder")
      ->type_name("DIR");
  command
      .add_option("--repeat", arguments->repeat,
                  "Number of runs on the same inputs; all must give equal bits")
      ->type_name("NUMBER")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  command.add_flag("--graph", arguments->graph_replay,
                   "Replay a CUDA Graph instead of launching kernel by kernel");
  command.add_flag("--check", arguments->check,
                   "Check the results with the oracle, and compare fused with unfused bits");
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer(
      "Example:\n  sinter run softmax.sinter --device host --size rows=64 --check\n"
      "  sinter run softmax.sinter --inputs x=x.npy --outputs results --repeat 20 --graph\n"
      "  sinter run softmax.sinterx --check");
  set_action(command, action, arguments, [](RunArguments& given) {
    take_file(given.graph.file, given.inputs);
    finish_graph_arguments(given.graph);
    return run(given);
  });
}

}  // namespace sinter::command
