#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/compile.h"

namespace sinter::command {

void declare_compile(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App& command =
      *app.add_subcommand("compile", "Compile a graph to a file that loads without a compiler");
  add_graph(command, arguments->graph);
  command
      .add_option("--arch", arguments->archs,
                  "Targets, separated by commas: sm_80, h200, host, ...; default: the local device")
      ->type_name("ARCHS");
  add_numerics(command, arguments->numerics);
  command.add_option("-o,--output", arguments->output, "The file to write")
      ->type_name("FILE")
      ->required();
  add_quiet(command, arguments->quiet);
  command.footer("Example:\n  sinter compile softmax.sinter --arch sm_80,sm_90 -o softmax.sinterx");
  set_graph_action(command, action, arguments, compile_to_file);
}

}  // namespace sinter::command
