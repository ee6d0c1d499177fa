// `sinter run`: runs a graph, or a file of `sinter compile`, on given or random inputs, and can
// check the results.
#include "ir/graph/node.h"
#include "ir/shape/host_array.h"
#include "ir/types/wide_integer.h"
#include "runtime/execution/executable_state.h"
#include "runtime/observe/device_times.h"
#include "runtime/saved/read_saved.h"
#include "sinter/sinter.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/files/array_files.h"
#include "tools/sinter/files/npy.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/xxhash.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

struct RunArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  std::vector<std::string> inputs;  ///< `x=x.npy`; other inputs are random
  std::string outputs;              ///< folder for the results; empty: none are written
  int repeat = 1;                   ///< number of runs, whose results must have equal bits
  bool graph_replay = false;        ///< replay a CUDA Graph instead of launching kernel by kernel
  bool check = false;
  bool unfused = false;  ///< one kernel per node
  bool json = false;
};

/// The program of a run: a graph in text form, or a file of `sinter compile`.
struct LoadedProgram {
  Graph graph;
  std::optional<Executable> executable;  ///< nullopt: the graph must be compiled
  Numerics numerics;                     ///< of the executable
  std::vector<std::int64_t> sizes;       ///< of its first variant, by symbol id
  SavedWeights weights;
  std::shared_ptr<const MappedFile> file;  ///< has the elements of the weights
};

/// Throws UsageError if the file cannot be read, TextFailure if its text is invalid, and UserError
/// if a saved executable does not run on `device`.
LoadedProgram load_program(const std::string& file, Device device) {
  if (!is_saved_executable(file)) return {.graph = read_graph(file)};
  const std::shared_ptr<const MappedFile> mapped = map_trusted_file(file);
  const SavedExecutable saved = read_saved(mapped->bytes(), file);
  LoadedProgram program{
      .graph = graph_of(saved.program, file),
      .executable = load(file, device, {.options = options_from_environment()}, file.c_str(), 1),
      .numerics = saved.program.numerics,
      .weights = saved.weights,
      .file = mapped};
  const auto variants = program.executable->state()->variants();
  if (!variants.empty()) program.sizes = variants.front()->program.facts.symbols;
  return program;
}

HostArray host_array(const SavedWeight& weight, const SavedWeights& all) {
  HostArray array(weight.dtype, weight.shape);
  if (!weight.is_number)
    std::ranges::copy(all.elements_of(weight), array.bytes().begin());
  else if (is_floating(weight.dtype))
    array.set_real_at(0, as_real(weight.number));
  else
    array.set_integer_at(0, static_cast<std::int64_t>(integer_of(weight.number)));
  return array;
}

/// Leaves weights to the executable, and returns their names. Adds others to `given`: those that
/// the program updates, because every run starts from the same state, and all for the oracle.
std::vector<std::string> take_weights(const LoadedProgram& program, bool for_oracle,
                                      HostArrays& given) {
  const GraphData& graph = program.graph.data();
  std::vector<std::string> left;
  for (const SavedWeight& weight : program.weights.table) {
    if (given.contains(weight.input)) continue;
    const Node* input = std::ranges::find(graph.inputs, weight.input, &InputInfo::name)->node;
    if (for_oracle || std::ranges::count(graph.updates, input, &UpdateInfo::parameter) > 0)
      given.emplace(weight.input, host_array(weight, program.weights));
    else
      left.push_back(weight.input);
  }
  return left;
}

/// XXH3 (64 bits) of the elements' bytes in row-major order, as 16 hexadecimal digits. All NaNs
/// hash equally; strides and padding do not matter.
std::string content_hash(const HostArray& array) {
  HostArray plain(array.dtype(), {array.shape().begin(), array.shape().end()});
  copy_elements(array, plain);
  for (std::int64_t i = 0; is_floating(plain.dtype()) && i < plain.size(); ++i)
    if (std::isnan(plain.real_at(i)))
      plain.set_real_at(i, std::numeric_limits<long double>::quiet_NaN());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(plain.bytes().data());
  return fmt::format("{:016x}", llvm::xxh3_64bits({bytes, plain.bytes().size()}));
}

Json repeat_json(const GraphRun& run) {
  const auto [least, most] = std::ranges::minmax(run.wall_us);
  if (is_virtual(run.device))
    return {{"runs", run.wall_us.size()},
            {"bit_equal", run.repeat_difference.empty()},
            {"virtual", true}};
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
    if (is_virtual(run.device))
      fmt::print("{} runs, whose times mean nothing\n", run.wall_us.size());
    else
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

/// False if a check failed or repeated runs differ.
bool run(const RunArguments& arguments) {
  const Device device = device_named(arguments.device);
  const LoadedProgram program = load_program(arguments.graph.file, device);
  const Numerics numerics = numerics_to_run(arguments, program);
  const Graph& graph = program.graph;
  HostArrays given = read_inputs(graph, arguments.inputs);
  const std::vector<std::string> weights = take_weights(program, arguments.check, given);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes, given, program.sizes);
  const HostArrays inputs = complete_inputs(graph, sizes.values, arguments.seed, given, weights);
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

}  // namespace

void declare_run(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App& command =
      *app.add_subcommand("run", "Run a graph or a compiled file on given or random inputs");
  command
      .add_option("FILE", arguments->graph.file,
                  "A graph in text form (- reads standard input), or a compiled file")
      ->type_name("");
  add_sizes(command, arguments->graph.sizes);
  add_device_and_seed(command, arguments->device, arguments->seed);
  command
      .add_option("--inputs", arguments->inputs,
                  "Inputs from .npy files; their shapes also give the sizes of symbols")
      ->type_name("NAME=FILE");
  command
      .add_option("--outputs", arguments->outputs,
                  "Write each output and updated input to NAME.npy in this folder")
      ->type_name("DIR");
  command
      .add_option("--repeat", arguments->repeat,
                  "Number of runs on the same inputs; all must give equal bits")
      ->type_name("NUMBER")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  command.add_flag("--graph", arguments->graph_replay,
                   "Replay a CUDA Graph instead of launching kernel by kernel");
  command.add_flag("--check", arguments->check,
                   "Check the results with the oracle, and compare fused with unfused bits");
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer(
      "Example:\n  sinter run softmax.sinter --device host --size rows=64 --check\n"
      "  sinter run softmax.sinter --inputs x=x.npy --outputs results --repeat 20 --graph\n"
      "  sinter run softmax.sinterx --check");
  set_action(command, action, arguments, [](RunArguments& given) {
    take_file(given.graph.file, given.inputs);
    finish_graph_arguments(given.graph);
    return run(given);
  });
}

}  // namespace sinter::command
