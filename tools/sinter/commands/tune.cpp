#include "tools/sinter/commands/tune.h"

#include "sinter/tuning.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/progress.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

namespace sinter::command {

namespace {

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

}  // namespace

void tune(const TuneArguments& arguments) {
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const RunRequest request{.device = device_named(arguments.device),
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

}  // namespace sinter::command
