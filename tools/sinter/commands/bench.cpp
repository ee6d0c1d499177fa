#include "tools/sinter/commands/bench.h"

#include "ir/oracle/random_inputs.h"
#include "tools/sinter/commands/bench_suite.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/output/progress.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

/// A word that has no file of its name and does not look like one is a suite.
bool is_suite(const std::string& word) {
  std::error_code error;
  return word != "-" && word.find_first_of("./") == word.npos &&
         !std::filesystem::is_regular_file(word, error);
}

void list_suites(bool json) {
  const std::vector<std::string> suites = bench_suites();
  if (json) return fmt::print("{}\n", Json{{"suites", suites}}.dump(2));
  if (suites.empty()) fmt::print("there are no suites beside the command\n");
  for (const std::string& suite : suites) fmt::print("{}\n", suite);
}

Json json_of(const CallTimes& times) {
  return {{"median_us", times.waited.median},
          {"lower_quartile_us", times.waited.lower},
          {"upper_quartile_us", times.waited.upper},
          {"back_to_back_us", times.back_to_back_us}};
}

void print_times(const char* what, const CallTimes& times) {
  fmt::print("{} {:>10.2f} us [{:.2f}, {:.2f}] until it is done, {:.2f} us back to back\n", what,
             times.waited.median, times.waited.lower, times.waited.upper, times.back_to_back_us);
}

void bench_graph(const BenchArguments& arguments) {
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const HostArrays inputs = random_inputs(graph, sizes.values, arguments.seed);
  Progress progress(fmt::format("tuning and timing {}", graph.name()), /*total=*/0,
                    arguments.quiet);
  const GraphTimes times = time_graph(graph, inputs,
                                      {.device = device_called(arguments.device),
                                       .file = arguments.graph.file.c_str(),
                                       .symbols = sizes.values,
                                       .numerics = numerics_of(arguments.numerics)},
                                      arguments.repeats);
  progress.hide();
  if (arguments.json) {
    const Json json = {{"run", json_of(times.run)},
                       {"replay", json_of(times.replay)},
                       {"kernels", Json::parse(profile_json(times.profile))}};
    return fmt::print("{}\n", json.dump(2));
  }
  const std::string text = sizes.text(graph);
  fmt::print("{} on {}{}{}\n", graph.name(), times.profile.device, text.empty() ? "" : ": ", text);
  print_times("run   ", times.run);
  print_times("replay", times.replay);
  fmt::print("\n{}", profile_table(times.profile));
}

}  // namespace

bool bench(const BenchArguments& arguments) {
  const std::string& what = arguments.graph.file;
  const bool is_of_graph = !what.empty() && !is_suite(what);
  if (!is_of_graph && !arguments.of_graphs.empty())
    throw UsageError(
        fmt::format("{} is for graphs; suites take --filter and --json", arguments.of_graphs));
  if ((is_of_graph || what.empty()) && !arguments.filter.empty())
    throw UsageError("--filter is for suites; name one, without a suffix such as .sinter");
  if (what.empty()) {
    list_suites(arguments.json);
  } else if (!is_of_graph) {
    run_suite({.suite = what, .filter = arguments.filter, .json = arguments.json});
  } else {
    bench_graph(arguments);
  }
  return true;
}

}  // namespace sinter::command
