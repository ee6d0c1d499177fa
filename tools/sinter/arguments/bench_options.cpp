#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/bench.h"

namespace sinter::command {

void declare_bench(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App& command =
      *app.add_subcommand("bench", "Time a graph end to end, or run a suite of benchmarks");
  command
      .add_option("SUITE|FILE", arguments->graph.file,
                  "A suite, or a graph in text form; without it, the suites are listed")
      ->type_name("");
  add_sizes(command, arguments->graph.sizes);
  add_device_and_seed(command, arguments->device, arguments->seed);
  add_numerics(command, arguments->numerics);
  command.add_option("--repeats", arguments->repeats, "Timed calls, and launches of each kernel")
      ->type_name("NUMBER")
      ->transform(whole_number(1, kMaxRepeats))
      ->capture_default_str();
  command
      .add_option("--filter", arguments->filter,
                  "Only benchmarks of a suite that match (in the suite called suite: whose name "
                  "contains it)")
      ->type_name("REGEX");
  add_quiet(command, arguments->quiet);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer(
      "Example:\n  sinter bench softmax.sinter --size rows=8192 --json\n"
      "  sinter bench launch");
  set_action(command, action, arguments, [&command](BenchArguments& given) {
    for (const char* option :
         {"--size", "--device", "--seed", "--rounding", "--math", "--repeats", "--quiet"})
      if (command.count(option) > 0) given.graph_only_option = option;
    take_file(given.graph.file, given.graph.sizes);
    bench(given);
  });
}

}  // namespace sinter::command
