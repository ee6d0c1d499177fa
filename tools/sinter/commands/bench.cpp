// `sinter bench`: times a graph end to end, or runs a benchmark program from the command's folder.
#include "ir/oracle/random_inputs.h"
#include "runtime/observe/device_times.h"
#include "runtime/support/process.h"
#include "sinter/error.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/output/progress.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct BenchArguments {
  GraphArguments graph;  ///< the file may be the name of a suite; empty: list the suites
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;
  std::string filter;  ///< suites: run only benchmarks whose name matches
  bool quiet = false;  ///< no progress
  bool json = false;
  std::string graph_only_option;  ///< a given option that suites do not have; empty: none
};

constexpr std::string_view kEnding = "_bench";

fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

/// Runs a program and returns its exit code, as a shell reports it.
int run_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0)
    throw UserError(fmt::format("{} cannot be started: {}", words[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw UserError(fmt::format("{} cannot be waited for: {}", words[0], std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Throws UsageError for a filter that matches no benchmark or is not a regular expression. Google
/// Benchmark succeeds with these filters and prints the problem in place of names.
void check_filter(const BenchArguments& arguments, const std::string& program) {
  const std::vector<std::string> words = {program, "--benchmark_list_tests=true",
                                          "--benchmark_filter=" + arguments.filter};
  const ProcessResult list = run_process(words, "", std::chrono::minutes(1));
  for (const std::string_view complaint : {"Failed to match any benchmarks", "Could not compile"})
    if (list.output.find(complaint) != std::string::npos)
      throw UsageError(
          fmt::format("--filter {}: no benchmark of suite {} matches it; without "
                      "--filter all of them run",
                      arguments.filter, arguments.graph.file));
}

/// The names of the suites, sorted.
std::vector<std::string> bench_suites() {
  std::vector<std::string> suites;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(own_folder(), error)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(kEnding) && name.size() > kEnding.size() &&
        access(entry.path().c_str(), X_OK) == 0)
      suites.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  std::ranges::sort(suites);
  return suites;
}

/// Runs the suite with the standard streams of the command. Throws UsageError if there is no such
/// program, and UserError if it cannot be started or fails.
void run_suite(const BenchArguments& arguments) {
  const std::string& suite = arguments.graph.file;
  const std::vector<std::string> suites = bench_suites();
  if (std::ranges::count(suites, suite) == 0)
    throw UsageError(fmt::format(
        "there is neither a file {0} nor a suite of this name; {1}", suite,
        suites.empty()
            ? fmt::format("there are no suites in the command's folder: build {}_bench", suite)
            : fmt::format("the suites are {}", fmt::join(suites, ", "))));
  std::vector<std::string> words = {own_folder() / (suite + std::string(kEnding))};
  // The suite that compares with peers does not use Google Benchmark.
  const bool is_own = suite == "suite";
  if (arguments.json) words.push_back(is_own ? "--json=-" : "--benchmark_format=json");
  if (!arguments.filter.empty())
    words.push_back((is_own ? "--only=" : "--benchmark_filter=") + arguments.filter);
  if (!is_own && !arguments.filter.empty()) check_filter(arguments, words[0]);
  std::fflush(stdout);
  if (const int code = run_program(words); code != 0)
    throw UserError(fmt::format("suite {} failed: {} ended with {}", suite, words[0], code));
}

/// True for a word that is not the name of a file and does not look like one.
bool is_suite(const std::string& word) {
  std::error_code error;
  return word != "-" && word.find_first_of("./") == word.npos && !fs::is_regular_file(word, error);
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
  const Device device = device_named(arguments.device);
  const bool has_times = may_record_times(device.name(), "bench");
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const HostArrays inputs = random_inputs(graph, sizes.values, arguments.seed);
  Progress progress(fmt::format("tuning and timing {}", graph.name()), /*total=*/0,
                    arguments.quiet);
  const GraphTimes times = time_graph(graph, inputs,
                                      {.device = device,
                                       .file = arguments.graph.file.c_str(),
                                       .symbols = sizes.values,
                                       .numerics = numerics_of(arguments.numerics)},
                                      arguments.repeats);
  progress.hide();
  if (!has_times) return print_rehearsal(graph, device, arguments.json);
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

/// Throws UserError if a benchmark program fails.
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
  run_suite(arguments);
}

}  // namespace

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
  add_repeats(command, arguments->repeats, "Timed calls, and launches of each kernel");
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
