#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/compile.h"

namespace sinter::command {

void declare_compile(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App& command = *app.add_subcommand(
      "compile", "Write a graph's kernels to a file that loads without compiler");
  add_graph(command, arguments->graph);
  command
      .add_option("--arch", arguments->archs,
                  "What for, with commas between: sm_80, h200, host, ...; default: the device here")
      ->type_name("ARCHS");
  add_numerics(command, arguments->numerics);
  command.add_option("-o,--output", arguments->output, "The file to write")
      ->type_name("FILE")
      ->required();
  add_quiet(command, arguments->quiet);
  command.footer("Example:\n  sinter compile softmax.sinter --arch sm_80,sm_90 -o softmax.sinterx");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      compile_to_file(*arguments);
      return true;
    };
  });
}

}  // namespace sinter::command
