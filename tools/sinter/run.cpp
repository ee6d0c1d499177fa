#include "tools/sinter/run.h"

#include "ir/check.h"
#include "ir/interpret.h"
#include "ir/random_inputs.h"
#include "tools/sinter/content_hash.h"
#include "tools/sinter/run_graph.h"
#include "tools/sinter/words.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

/// What `--check` found out.
struct Verdict {
  double worst = 0;  ///< error over bound
  std::int64_t undecided = 0;
  bool is_within_bounds = true;
  bool is_equal_unfused = true;
  std::vector<std::string> lines;

  bool passes() const { return is_within_bounds && is_equal_unfused; }
};

Device device_called(const std::string& name) {
  if (name == "host") return host_device();
  return name == "cuda" ? cuda_device() : default_device();
}

std::string element_text(const HostArray& array, std::span<const std::int64_t> index) {
  return is_floating(array.dtype()) ? fmt::format("{:.9g}", array.real(index))
                                    : fmt::format("{}", array.integer(index));
}

void judge_by_oracle(const Graph& graph, const HostArrays& inputs,
                     std::span<const std::int64_t> symbols, const GraphRun& run, Verdict& verdict) {
  const Interpretation expected = interpret(graph, inputs, symbols);
  for (const Result& result : run.results) {
    const auto& wanted = result.is_update ? expected.updates : expected.outputs;
    const CheckResult checked = check(wanted.at(result.name), result.array);
    verdict.worst = std::max(verdict.worst, checked.worst);
    verdict.undecided += checked.undecided;
    verdict.is_within_bounds = verdict.is_within_bounds && checked.passes();
    verdict.lines.push_back(describe(result.name, checked));
  }
}

void compare_bits(const GraphRun& run, const GraphRun& other, bool is_unfused, Verdict& verdict) {
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    const HostArray& ours = run.results[i].array;
    const HostArray& theirs = other.results[i].array;
    const auto index = first_difference(ours, theirs);
    if (!index) continue;
    verdict.is_equal_unfused = false;
    const std::string here = element_text(ours, *index);
    const std::string there = element_text(theirs, *index);
    verdict.lines.push_back(
        fmt::format("{}: fused and unfused bits differ, first at [{}]: {} fused, {} unfused",
                    run.results[i].name, fmt::join(*index, ", "), is_unfused ? there : here,
                    is_unfused ? here : there));
  }
  if (verdict.is_equal_unfused)
    verdict.lines.push_back("fused and unfused results have equal bits");
}

/// JSON has no infinity: the largest number stands for it.
double finite(double value) { return std::min(value, std::numeric_limits<double>::max()); }

Json to_json(const GraphRun& run, const std::optional<Verdict>& verdict) {
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

void print_text(const RunArguments& arguments, const std::string& sizes, const Graph& graph,
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
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const HostArrays inputs = random_inputs(graph, sizes.values, arguments.seed);
  RunRequest request{.device = device_called(arguments.device),
                     .symbols = sizes.values,
                     .fuse = !arguments.unfused};
  const GraphRun result = run_graph(graph, inputs, request);

  std::optional<Verdict> verdict;
  if (arguments.check) {
    verdict.emplace();
    judge_by_oracle(graph, inputs, sizes.values, result, *verdict);
    request.fuse = !request.fuse;
    compare_bits(result, run_graph(graph, inputs, request), arguments.unfused, *verdict);
  }
  if (arguments.json)
    fmt::print("{}\n", to_json(result, verdict).dump(2));
  else
    print_text(arguments, sizes.text(graph), graph, result, verdict);
  return !verdict || verdict->passes();
}

}  // namespace sinter::command
