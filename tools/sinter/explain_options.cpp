#include "tools/sinter/explain.h"
#include "tools/sinter/options.h"

namespace sinter::command {

void declare_explain(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& command =
      *app.add_subcommand("explain", "Say which kernels a graph becomes, why, and what they cost");
  add_graph(command, arguments->graph);
  add_arch(command, arguments->arch);
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter explain softmax.sinter --size rows=4096 --arch sm_90");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      explain(*arguments);
      return true;
    };
  });
}

}  // namespace sinter::command
