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

/// True for a word that is not the name of a file and does not look like one.
bool is_suite(const std::string& word) {
  std::error_code error;
  return word != "-" && word.find_first_of("./") == word.npos &&
         !std::filesystem::is_regular_file(word, error);
}

void list_suites(bool json) {
  const std::vector<std::string> suites = bench_suites();
  if (json) return fmt::print("{}\n", Json{{"suites", suites}}.dump(2));
  if (suites.empty()) fmt::print("there are no suites in the command's folder\n");
  for (const std::string& suite : suites) fmt::print("{}\n", suite);
}

Json json_of(const CallTimes& times) {
  return {{"median_us", times.waited.median},
          {"lower_quartile_us", times.waited.lower},
          {"upper_quartile_us", times.waited.upper},
          {"back_to_back_us", times.back_to_back_us}};
}

void print_times(const char* what, const CallTimes& times) {
  fmt::print("{} {:>10.2f} us [{:.2f}, {:.2f}] to completion, {:.2f} us back to back\n", what,
             times.waited.median, times.waited.lower, times.waited.upper, times.back_to_back_us);
}

void bench_graph(const BenchArguments& arguments) {
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const HostArrays inputs = random_inputs(graph, sizes.values, arguments.seed);
  Progress progress(fmt::format("tuning and timing {}", graph.name()), /*total=*/0,
                    arguments.quiet);
  const GraphTimes times = time_graph(graph, inputs,
                                      {.device = device_named(arguments.device),
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

void bench(const BenchArguments& arguments) {
  const std::string& what = arguments.graph.file;
  const bool is_graph = !what.empty() && !is_suite(what);
  if (!is_graph && !arguments.graph_only_option.empty())
    throw UsageError(fmt::format("{} is for graphs; suites take --filter and --json",
                                 arguments.graph_only_option));
  if ((is_graph || what.empty()) && !arguments.filter.empty())
    throw UsageError("--filter is for suites; name one, without a suffix such as .sinter");
  if (what.empty()) return list_suites(arguments.json);
  if (is_graph) return bench_graph(arguments);
  run_suite({.suite = what, .filter = arguments.filter, .json = arguments.json});
}

}  // namespace sinter::command
