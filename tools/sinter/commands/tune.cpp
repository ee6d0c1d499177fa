// `sinter tune`: measures each kernel's candidates, and reports the choice and its reason.
#include "runtime/observe/device_times.h"
#include "sinter/tuning.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/progress.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

namespace sinter::command {

namespace {

struct TuneArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  bool wide = false;   ///< measure longer, at exactly these sizes
  bool quiet = false;  ///< no progress
  bool table = false;  ///< one line per candidate
  std::string import_file;
  std::string export_file;
};

/// `: 12.30 us, 1.20 times as fast as the default`; empty if it was not timed.
std::string time_text(const KernelReport& kernel, const CandidateReport& chosen) {
  if (chosen.median_us <= 0) return {};
  const CandidateReport& first = kernel.candidates.front();
  const std::string than_default = &first == &chosen || first.median_us <= 0
                                       ? ", the default"
                                       : fmt::format(", {:.2f} times as fast as the default",
                                                     first.median_us / chosen.median_us);
  return fmt::format(": {:.2f} us{}", chosen.median_us, than_default);
}

void print_choice(const KernelReport& kernel) {
  fmt::print("\nkernel {} · {}\n", kernel.name, kernel.kind);
  const auto chosen = std::ranges::find(kernel.candidates, true, &CandidateReport::chosen);
  fmt::print("  chosen    {}{}\n", kernel.schedule,
             chosen == kernel.candidates.end() ? "" : time_text(kernel, *chosen));
  fmt::print("  why       {}\n", kernel.tuning);
  for (const CandidateReport& candidate : kernel.candidates)
    if (!candidate.problem.empty())
      fmt::print("  dropped   {}: {}\n", candidate.schedule, candidate.problem);
}

void tune(const TuneArguments& arguments) {
  const Device device = device_named(arguments.device);
  const bool has_times = may_record_times(device.name(), "tune");
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const RunRequest request{.device = device,
                           .file = arguments.graph.file.c_str(),
                           .symbols = sizes.values,
                           .numerics = numerics_of(arguments.numerics)};
  if (!arguments.import_file.empty() && access(arguments.import_file.c_str(), R_OK) != 0)
    throw UsageError(
        fmt::format("--import {} cannot be read: {}", arguments.import_file, std::strerror(errno)));
  if (!arguments.import_file.empty())
    fmt::print(
        "{}: timings of {}\n", arguments.import_file,
        counted(static_cast<std::int64_t>(import_tuning(request.device, arguments.import_file)),
                "kernel"));
  Options options = options_for(request, Tune::quick);
  options.tune = arguments.wide ? Tune::wide : Tune::quick;
  const Executable executable =
      sinter::compile(graph, request.device, options, request.file, /*line=*/1);
  {
    const Progress progress(fmt::format("compiling and timing {}", graph.name()), /*total=*/0,
                            arguments.quiet);
    executable.prepare(named_sizes(graph, sizes.values));
  }

  if (!has_times) return print_rehearsal(graph, device, /*as_json=*/false);
  const Report report = executable.report();
  const std::string text = sizes.text(graph);
  fmt::print("{} on {}{}{}\n", graph.name(), report.device, text.empty() ? "" : ": ", text);
  if (arguments.table)
    fmt::print("\n{}", tuning_table(report));
  else
    for (const KernelReport& kernel : report.kernels) print_choice(kernel);
  if (arguments.export_file.empty()) return;
  export_tuning(request.device, arguments.export_file);
  fmt::print("\nwrote {}\n", arguments.export_file);
}

}  // namespace

void declare_tune(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App& command = *app.add_subcommand(
      "tune", "Measure each kernel's candidates, and report the choice and its reason");
  add_graph(command, arguments->graph);
  add_device(command, arguments->device);
  add_numerics(command, arguments->numerics);
  command.add_flag("--wide", arguments->wide, "Measure longer, at exactly these sizes");
  add_quiet(command, arguments->quiet);
  command.add_flag("--table", arguments->table, "Print a line for every candidate");
  command.add_option("--import", arguments->import_file, "Import timings from this file first")
      ->type_name("FILE");
  command
      .add_option("--export", arguments->export_file,
                  "Write all timings to this file, for machines of the same kind")
      ->type_name("FILE");
  command.footer("Example:\n  sinter tune softmax.sinter --size rows=8192 --wide --table");
  set_graph_action(command, action, arguments, tune);
}

}  // namespace sinter::command
