#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/bench.h"

namespace sinter::command {

void declare_bench(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App& command =
      *app.add_subcommand("bench", "Time a graph end to end, or run a suite of benchmarks");
  command
      .add_option("SUITE|FILE", arguments->graph.file,
                  "A suite, or a graph in text form; without, the suites are listed")
      ->type_name("");
  add_sizes(command, arguments->graph.sizes);
  add_place(command, arguments->device, arguments->seed);
  add_numerics(command, arguments->numerics);
  command.add_option("--repeats", arguments->repeats, "Timed calls, and launches of each kernel")
      ->type_name("NUMBER")
      ->transform(whole_number(1, kMostRepeats))
      ->capture_default_str();
  command
      .add_option("--filter", arguments->filter,
                  "Of a suite: only benchmarks that match it (of the suite called suite: that it "
                  "is part of)")
      ->type_name("REGEX");
  add_quiet(command, arguments->quiet);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer(
      "Example:\n  sinter bench softmax.sinter --size rows=8192 --json\n"
      "  sinter bench launch");
  command.final_callback([arguments, &command, &chosen] {
    for (const char* option :
         {"--size", "--device", "--seed", "--rounding", "--math", "--repeats", "--quiet"})
      if (command.count(option) > 0) arguments->of_graphs = option;
    chosen = [arguments] {
      take_file(arguments->graph.file, arguments->graph.sizes);
      return bench(*arguments);
    };
  });
}

}  // namespace sinter::command
