#include "tools/sinter/commands/run.h"

#include "tools/sinter/commands/load_program.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/files/array_files.h"
#include "tools/sinter/files/content_hash.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/verdict.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

Json repeat_json(const GraphRun& run) {
  const auto [least, most] = std::ranges::minmax(run.wall_us);
  return {{"runs", run.wall_us.size()},
          {"bit_equal", run.repeat_difference.empty()},
          {"median_us", quartiles_of(run.wall_us).median},
          {"min_us", least},
          {"max_us", most}};
}

Json run_json(const GraphRun& run, const std::optional<Verdict>& verdict) {
  Json outputs = Json::array();
  for (const Result& result : run.results)
    outputs.push_back({{"name", result.name},
                       {"is_update", result.is_update},
                       {"dtype", name(result.array.dtype())},
                       {"shape", result.array.shape()},
                       {"hash", content_hash(result.array)}});
  return {{"launches", run.launches},
          {"bytes_counted", run.bytes_read ? Json(*run.bytes_read + *run.bytes_written) : Json()},
          {"worst_error_over_bound", verdict ? Json(finite(verdict->worst)) : Json()},
          {"first_bad", verdict && !verdict->first_bad.empty() ? Json(verdict->first_bad) : Json()},
          {"undecided", verdict ? Json(verdict->undecided) : Json()},
          {"bit_equal_unfused",
           verdict && verdict->is_equal_unfused ? Json(*verdict->is_equal_unfused) : Json()},
          {"repeat", run.wall_us.size() > 1 ? repeat_json(run) : Json()},
          {"outputs", outputs}};
}

void print_run(const RunArguments& arguments, const std::string& sizes, const Graph& graph,
               const GraphRun& run, const std::optional<Verdict>& verdict) {
  fmt::print("{} on {}: seed {}{}{}\n", graph.name(), run.device, arguments.seed,
             sizes.empty() ? "" : ", ", sizes);
  fmt::print("{}{}{}", counted(run.launches, "launch"), arguments.unfused ? ", unfused" : "",
             arguments.graph_replay ? ", replayed as a CUDA Graph" : "");
  if (run.bytes_read)
    fmt::print(", counted: {} read, {} written", bytes_text(*run.bytes_read),
               bytes_text(*run.bytes_written));
  fmt::print("\n");
  for (const Result& result : run.results)
    fmt::print("{} {}: {}[{}], hash {}\n", result.is_update ? "update" : "output", result.name,
               name(result.array.dtype()), fmt::join(result.array.shape(), ", "),
               content_hash(result.array));
  if (run.wall_us.size() > 1) {
    const auto [least, most] = std::ranges::minmax(run.wall_us);
    fmt::print("wall time of {} runs: median {:.1f} us, min {:.1f} us, max {:.1f} us\n",
               run.wall_us.size(), quartiles_of(run.wall_us).median, least, most);
    fmt::print("repeat {}\n",
               run.repeat_difference.empty() ? "all runs gave equal bits" : run.repeat_difference);
  }
  if (!verdict) return;
  for (const std::string& line : verdict->lines) fmt::print("check {}\n", line);
}

/// The numerics of the program. Throws UsageError if the options change numerics or fusion of a
/// saved executable. Throws it, too, if --check is given for numerics without an error bound.
Numerics numerics_to_run(const RunArguments& arguments, const LoadedProgram& program) {
  const Numerics asked = numerics_of(arguments.numerics);
  if (program.executable && (arguments.unfused || asked != Numerics{}))
    throw UsageError(fmt::format(
        "{} is a saved executable, whose fusion and numerics are fixed; omit --unfused, "
        "--rounding and --math",
        arguments.graph.file));
  const Numerics numerics = program.executable ? program.numerics : asked;
  if (arguments.check && numerics != Numerics{})
    throw UsageError(
        "--check: with --rounding wide or --math fast, errors have no bound and depend on fusion; "
        "omit these options");
  return numerics;
}

}  // namespace

bool run(const RunArguments& arguments) {
  const Device device = device_named(arguments.device);
  const LoadedProgram program = load_program(arguments.graph.file, device);
  const Numerics numerics = numerics_to_run(arguments, program);
  const Graph& graph = program.graph;
  const HostArrays given = read_inputs(graph, arguments.inputs);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes, given, program.sizes);
  const HostArrays inputs = complete_inputs(graph, sizes.values, arguments.seed, given);
  RunRequest request{.device = device,
                     .file = arguments.graph.file.c_str(),
                     .symbols = sizes.values,
                     .fuse = !arguments.unfused,
                     .numerics = numerics,
                     .runs = arguments.repeat,
                     .replay = arguments.graph_replay,
                     .loaded = program.executable ? &*program.executable : nullptr};
  const GraphRun result = run_graph(graph, inputs, request);

  std::optional<Verdict> verdict;
  if (arguments.check) {
    verdict.emplace();
    check_with_oracle(graph, inputs, sizes.values, result, *verdict);
    if (program.executable)
      verdict->lines.emplace_back("a saved executable has no unfused version to compare bits with");
  }
  if (arguments.check && !program.executable) {
    request.fuse = !request.fuse;
    request.runs = 1;
    const GraphRun other = run_graph(graph, inputs, request);
    compare_bits(arguments.unfused ? other : result, arguments.unfused ? result : other, *verdict);
  }
  std::vector<std::string> files;
  if (!arguments.outputs.empty()) files = write_results(arguments.outputs, result.results);
  if (arguments.json)
    fmt::print("{}\n", run_json(result, verdict).dump(2));
  else
    print_run(arguments, sizes.text(graph), graph, result, verdict);
  if (!arguments.json)
    for (const std::string& file : files) fmt::print("wrote {}\n", file);
  return result.repeat_difference.empty() && (!verdict || verdict->passes());
}

}  // namespace sinter::command
