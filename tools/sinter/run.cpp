#include "tools/sinter/run.h"

#include "ir/random_inputs.h"
#include "tools/sinter/content_hash.h"
#include "tools/sinter/run_graph.h"
#include "tools/sinter/verdict.h"
#include "tools/sinter/words.h"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

Json run_json(const GraphRun& run, const std::optional<Verdict>& verdict) {
  Json outputs = Json::array();
  for (const Result& result : run.results)
    outputs.push_back({{"name", result.name}, {"hash", content_hash(result.array)}});
  return {{"launches", run.launches},
          {"bytes_counted", run.bytes_read ? Json(*run.bytes_read + *run.bytes_written) : Json()},
          {"worst_error_over_bound", verdict ? Json(finite(verdict->worst)) : Json()},
          {"undecided", verdict ? Json(verdict->undecided) : Json()},
          {"bit_equal_unfused", verdict ? Json(verdict->is_equal_unfused) : Json()},
          {"outputs", outputs}};
}

void print_run(const RunArguments& arguments, const std::string& sizes, const Graph& graph,
               const GraphRun& run, const std::optional<Verdict>& verdict) {
  fmt::print("{} on {}: seed {}{}{}\n", graph.name(), run.device, arguments.seed,
             sizes.empty() ? "" : ", ", sizes);
  fmt::print("{}{}", counted(run.launches, "launch"), arguments.unfused ? ", unfused" : "");
  if (run.bytes_read)
    fmt::print(", counted: {} read, {} written", bytes_text(*run.bytes_read),
               bytes_text(*run.bytes_written));
  fmt::print("\n");
  for (const Result& result : run.results)
    fmt::print("{} {}: {}[{}], hash {}\n", result.is_update ? "update" : "output", result.name,
               name(result.array.dtype()), fmt::join(result.array.shape(), ", "),
               content_hash(result.array));
  if (!verdict) return;
  for (const std::string& line : verdict->lines) fmt::print("check {}\n", line);
}

}  // namespace

bool run(const RunArguments& arguments) {
  const Numerics numerics = numerics_of(arguments.numerics);
  if (arguments.check && numerics != Numerics{})
    throw UsageError(
        "--check: with --rounding wide or --math fast results may be off by any amount, and depend "
        "on what is fused; leave them out");
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const HostArrays inputs = random_inputs(graph, sizes.values, arguments.seed);
  RunRequest request{.device = device_called(arguments.device),
                     .symbols = sizes.values,
                     .fuse = !arguments.unfused,
                     .numerics = numerics};
  const GraphRun result = run_graph(graph, inputs, request);

  std::optional<Verdict> verdict;
  if (arguments.check) {
    verdict.emplace();
    judge_by_oracle(graph, inputs, sizes.values, result, *verdict);
    request.fuse = !request.fuse;
    const GraphRun other = run_graph(graph, inputs, request);
    compare_bits(arguments.unfused ? other : result, arguments.unfused ? result : other, *verdict);
  }
  if (arguments.json)
    fmt::print("{}\n", run_json(result, verdict).dump(2));
  else
    print_run(arguments, sizes.text(graph), graph, result, verdict);
  return !verdict || verdict->passes();
}

}  // namespace sinter::command
