// `sinter compile`: writes a graph's kernels, and its weights if there are any, to a file that
// `sinter::load` loads without a compiler.
#include "ir/graph/node.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/files/device_arrays.h"
#include "tools/sinter/files/weights_folder.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/progress.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

struct CompileArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string archs;   ///< `sm_80,sm_90`; empty: that of the device
  std::string output;  ///< the file
  bool quiet = false;  ///< no progress
};

std::vector<std::string> split_archs(const std::string& text) {
  std::vector<std::string> archs;
  std::istringstream stream(text);
  for (std::string arch; std::getline(stream, arch, ',');) {
    if (arch != "host") target_of(arch);  // throws UsageError for an unknown target
    if (std::ranges::count(archs, arch) > 0)
      throw UsageError(fmt::format("--arch {}: {} is given twice", text, arch));
    archs.push_back(arch);
  }
  return archs;
}

/// `, 2 weights of 1.5 KiB`; empty without weights.
std::string weights_text(const HostArrays& weights) {
  if (weights.empty()) return {};
  std::int64_t bytes = 0;
  for (const auto& [name, array] : weights)
    bytes += static_cast<std::int64_t>(array.bytes().size());
  return fmt::format(", {} of {}", counted(static_cast<std::int64_t>(weights.size()), "weight"),
                     bytes_text(bytes));
}

void compile_to_file(const CompileArguments& arguments) {
  const std::vector<std::string> archs = split_archs(arguments.archs);
  const Graph graph = read_graph(arguments.graph.file);
  HostArrays weights;
  read_weights(graph, arguments.graph.file, weights);
  const std::string weights_of_file = weights_text(weights);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes, weights);
  const RunRequest request{.device = default_device(),
                           .symbols = sizes.values,
                           .numerics = numerics_of(arguments.numerics)};
  Options options = options_for(request, Tune::off);
  // The host device's kernels need no optimisation if they are not saved.
  options.optimize_host = archs.empty() || std::ranges::count(archs, "host") > 0;
  DeviceArrays arrays(request.device.stream());
  arrays.add_all(graph, std::move(weights));
  const Executable executable =
      sinter::compile(graph, request.device, options, arguments.graph.file.c_str(), /*line=*/1)
          .with_weights(arrays.bindings());
  {
    const Progress progress(fmt::format("compiling {}", graph.name()), /*total=*/0,
                            arguments.quiet);
    const std::vector<Size> named = named_sizes(graph, sizes.values);
    // Programs that load the file may bind arrays to outputs that are plain views, or omit them.
    for (const Views views : {Views::returned, Views::written}) executable.prepare(named, views);
    executable.save(arguments.output, {.archs = archs});
  }

  const Report report = executable.report();
  const std::string text = sizes.text(graph);
  std::error_code error;  // a pipe has no size
  const std::uintmax_t bytes = std::filesystem::file_size(arguments.output, error);
  fmt::print("{}: {} of {} for {}{}{}\n", arguments.output,
             counted(static_cast<std::int64_t>(report.kernels.size()), "kernel"), graph.name(),
             archs.empty() ? report.device : fmt::format("{}", fmt::join(archs, ", ")),
             weights_of_file, error ? "" : ", " + bytes_text(static_cast<std::int64_t>(bytes)));
  if (!text.empty())
    fmt::print("sizes: {}; the file also serves other sizes of their class\n", text);
}

}  // namespace

void declare_compile(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App& command =
      *app.add_subcommand("compile", "Compile a graph to a file that loads without a compiler");
  add_graph(command, arguments->graph);
  command
      .add_option("--arch", arguments->archs,
                  "Targets, separated by commas: sm_80, h200, host, ...; default: the local device")
      ->type_name("ARCHS");
  add_numerics(command, arguments->numerics);
  command.add_option("-o,--output", arguments->output, "The file to write")
      ->type_name("FILE")
      ->required();
  add_quiet(command, arguments->quiet);
  command.footer(
      "Arrays NAME.npy in the folder MODEL.weights beside MODEL.sinter become weights in the "
      "file.\n\n"
      "Example:\n  sinter compile softmax.sinter --arch sm_80,sm_90 -o softmax.sinterx");
  set_graph_action(command, action, arguments, compile_to_file);
}

}  // namespace sinter::command
