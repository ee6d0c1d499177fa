// `sinter explain`: reports kernels, their cost and the reason for every boundary, as text, JSON or
// an HTML page.
#include "sinter/explain.h"
#include "ir/oracle/random_inputs.h"
#include "runtime/observe/device_times.h"
#include "sinter/error.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/files/text_file.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/progress.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

struct ExplainArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string arch;      ///< empty: the measured GPU if there is one, else sm_90
  bool measure = false;  ///< also tune, and time each kernel
  std::string device;    ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;    ///< timed launches of each kernel
  int candidate = -1;  ///< of every kernel; -1: the default schedules
  bool quiet = false;
  bool json = false;
  std::string html;  ///< the file to write the page to; empty: none
};

/// True if registers and spills are known. There is no cubin for a GPU that is newer than NVRTC.
bool has_cubin(const KernelExplanation& kernel) { return kernel.report.registers > 0; }

/// `x 16, weight 8`: the bytes per access of each array.
std::string widths(const KernelExplanation& kernel, int AccessReport::*bytes) {
  std::vector<std::string> words;
  for (const AccessReport& array : kernel.arrays)
    if (array.*bytes > 0) words.push_back(fmt::format("{} {}", array.array, array.*bytes));
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

/// Prints the sections. Consecutive sections that run the same code share a line.
void print_sections(const std::vector<SectionReport>& sections) {
  for (auto first = sections.begin(); first != sections.end();) {
    const auto is_other = [&](const SectionReport& section) {
      return section.list < 0 || section.list != first->list || section.phase != first->phase;
    };
    const auto next = std::find_if(first + 1, sections.end(), is_other);
    const auto more = next - first - 1;
    fmt::print("  phase {}: {}{} · {}\n", first->phase, first->name,
               more == 0 ? "" : fmt::format(" and {} more that run the same code", more),
               first->kind);
    first = next;
  }
}

void print_compiled(const KernelExplanation& kernel, const Explanation& explanation) {
  const KernelReport& report = kernel.report;
  if (has_cubin(kernel))
    fmt::print("  {:<9} {}, {} spilled; compiled in {:.0f} ms\n", explanation.arch,
               counted(report.registers, "register"), bytes_text(report.spill_bytes),
               report.compile_ms);
  fmt::print("  ptx       bytes per access: loads of {}; stores of {}\n",
             widths(kernel, &AccessReport::load_bytes), widths(kernel, &AccessReport::store_bytes));
  // "at most" for clusters, since the number of free SMs per GPC is not known.
  fmt::print("  per SM    {}{}, {:.0f} % of its threads; {} in flight, {} per thread\n",
             kernel.report.cluster > 1 ? "at most " : "", counted(kernel.blocks_per_sm, "block"),
             100 * kernel.occupancy, bytes_text(kernel.bytes_in_flight),
             counted(kernel.independent_loads, "independent load"));
  for (const AccessReport& array : kernel.arrays)
    if (!array.problem.empty()) fmt::print("  problem   {}: {}\n", array.array, array.problem);
}

/// Prints the reasons why a GPU may move fewer bytes than predicted.
void print_estimates(const KernelReport& report) {
  if (report.bytes_are_bounds)
    fmt::print("  estimate  addresses are read from data, so these are the most bytes\n");
  if (report.planned_blocks > 0)
    fmt::print("  estimate  with fewer than {} blocks at once, more bytes move\n",
               report.planned_blocks);
  const std::int64_t more = report.bytes_read + report.bytes_written - report.minimal_bytes;
  if (more > 0)
    fmt::print("  estimate  {} are read again or are partial results; the L2 cache may have them\n",
               bytes_text(more));
}

/// Prints the measured times, if there are any.
void print_measured(const KernelExplanation& kernel) {
  if (!kernel.measured) return;
  const KernelProfile& times = *kernel.measured;
  fmt::print("  measured  {:.2f} us [{:.2f}, {:.2f}], {:.1f} GB/s, {:.1f} % of a copy\n",
             times.median_us, times.lower_quartile_us, times.upper_quartile_us,
             times.gigabytes_per_second, 100 * times.share_of_copy);
  if (times.schedule != kernel.report.schedule) fmt::print("  tuned     {}\n", times.schedule);
  fmt::print("  why       {}\n", kernel.report.tuning);
}

void print_kernel(const KernelExplanation& kernel, const Explanation& explanation) {
  const KernelReport& report = kernel.report;
  fmt::print("\nkernel {} · {}\n", kernel.name, report.kind);
  print_sections(report.sections);
  constexpr std::size_t kMaxListedNodes = 400;
  for (std::size_t i = 0; i < std::min(report.nodes.size(), kMaxListedNodes); ++i)
    fmt::print("  {}\n", report.nodes[i]);
  if (report.nodes.size() > kMaxListedNodes)
    fmt::print("  … and {} more ops\n", report.nodes.size() - kMaxListedNodes);
  fmt::print("  bytes     {} read, {} written{}; predicted {:.3g} us\n",
             bytes_text(report.bytes_read), bytes_text(report.bytes_written),
             times_minimum(report.bytes_read + report.bytes_written, report.minimal_bytes),
             kernel.predicted_us);
  print_estimates(report);
  print_measured(kernel);
  if (report.kind == "opaque") {  // the launches of the user's function are not known
    for (const std::string& note : report.notes) fmt::print("  note      {}\n", note);
    return;
  }
  fmt::print("  launch    {} of {} threads, {} of shared memory, {}-byte loads\n",
             counted(report.grid, "block"), report.threads, bytes_text(report.shared_bytes),
             report.vector_bytes);
  if (report.cluster > 1)
    fmt::print("  cluster   {} share rows; all must fit in one GPC at once\n",
               counted(report.cluster, "block"));
  fmt::print("  schedule  {}\n", report.schedule);
  if (kernel.is_compiled) print_compiled(kernel, explanation);
  for (const std::string& note : report.notes) fmt::print("  note      {}\n", note);
}

void print_explanation(const Explanation& explanation, const std::string& sizes) {
  fmt::print("{} for {} ({}): {} in {}\n", explanation.graph, explanation.target, explanation.arch,
             counted(explanation.recorded_ops, "recorded op"),
             counted(static_cast<std::int64_t>(explanation.kernels.size()), "kernel"));
  if (!sizes.empty()) fmt::print("sizes: {}\n", sizes);
  if (!explanation.measured_on.empty()) fmt::print("measured on {}\n", explanation.measured_on);
  for (const KernelExplanation& kernel : explanation.kernels) print_kernel(kernel, explanation);
  if (!explanation.boundaries.empty()) fmt::print("\nboundaries\n");
  for (const BoundaryReport& boundary : explanation.boundaries)
    fmt::print("  {}{} | {} ({}): {}\n", boundary.is_inside ? "inside one launch, " : "",
               boundary.producer, boundary.consumer, bytes_text(boundary.bytes), boundary.reason);
  if (!explanation.guards.empty())
    fmt::print("\nthese kernels also serve other sizes that satisfy\n");
  for (const std::string& guard : explanation.guards) fmt::print("  {}\n", guard);
  fmt::print(
      "\ntotal: {}, {}{}; unfused {}, {}\n", counted(explanation.launches, "launch"),
      bytes_text(explanation.bytes), times_minimum(explanation.bytes, explanation.minimal_bytes),
      counted(explanation.unfused_launches, "launch"), bytes_text(explanation.unfused_bytes));
  if (!explanation.why_not_compiled.empty())
    fmt::print("registers, spills and loads in flight are not known: {}\n",
               explanation.why_not_compiled);
}

/// The device of `--measure`. Throws UsageError if it is a GPU and `--arch` names another one.
Device measured_device(const ExplainArguments& arguments) {
  const Device device = device_named(arguments.device);
  if (!device.is_host() && !arguments.arch.empty() &&
      target_of(arguments.arch).arch != device.arch())
    throw UsageError(fmt::format("--arch {}: {} is an {}, and is measured as one; omit --arch",
                                 arguments.arch, device.name(), device.arch()));
  return device;
}

void add_measurements(Explanation& explanation, const ExplainArguments& arguments,
                      const Graph& graph, const RunRequest& request) {
  const bool has_times = may_record_times(request.device.name(), "explain --measure");
  const Progress progress(fmt::format("tuning and timing {}", graph.name()), /*total=*/0,
                          arguments.quiet);
  const HostArrays inputs = random_inputs(graph, request.symbols, arguments.seed);
  const MeasuredGraph measured = profile_graph(graph, inputs, request, arguments.repeats);
  if (!has_times) return;
  add_profile(explanation, measured.profile);
  add_tuning(explanation, measured.report);
}

Explanation explain_graph(const ExplainArguments& arguments, const Graph& graph,
                          const SymbolSizes& sizes) {
  const Numerics numerics = numerics_of(arguments.numerics);
  const std::string target(target_of(arguments.arch.empty() ? "sm_90" : arguments.arch).name);
  Options options{.rounding = numerics.rounding,
                  .math = numerics.math,
                  .skip = options_from_environment().skip,
                  .target = target,
                  .force_candidate = arguments.candidate};
  const std::vector<Size> named = named_sizes(graph, sizes.values);
  if (!arguments.measure) return sinter::explain(graph, named, options);
  const Device device = measured_device(arguments);
  if (!device.is_host()) options.target.clear();
  Explanation explanation = sinter::explain(graph, named, device, options);
  add_measurements(explanation, arguments, graph,
                   {.device = device,
                    .file = arguments.graph.file.c_str(),
                    .symbols = sizes.values,
                    .numerics = numerics,
                    .target = options.target});
  return explanation;
}

void explain(const ExplainArguments& arguments) {
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const Explanation explanation = explain_graph(arguments, graph, sizes);
  if (!arguments.html.empty()) write_text_file(arguments.html, explanation_html(explanation));
  if (arguments.json)
    fmt::print("{}\n", explanation_json(explanation));
  else if (arguments.html.empty())
    print_explanation(explanation, sizes.text(graph));
}

}  // namespace

void declare_explain(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& command =
      *app.add_subcommand("explain", "Explain a graph's kernels, their costs and their boundaries");
  add_graph(command, arguments->graph);
  command
      .add_option("--arch", arguments->arch,
                  "The GPU to plan and compile for: sm_80, h200, ...; default: sm_90, or the "
                  "measured GPU")
      ->type_name("ARCH");
  add_numerics(command, arguments->numerics);
  CLI::Option* const candidate =
      command
          .add_option("--candidate", arguments->candidate,
                      "Explain this candidate of every kernel (the last, if fewer), from 0")
          ->type_name("N")
          ->check(CLI::NonNegativeNumber);
  CLI::Option* const measure =
      command.add_flag("--measure", arguments->measure,
                       "Tune on a device, and time each kernel and a copy of the same bytes");
  add_device_and_seed(command, arguments->device, arguments->seed);
  add_repeats(command, arguments->repeats, "Timed launches of each kernel");
  measure->excludes(candidate);
  for (const char* option : {"--device", "--seed", "--repeats"})
    command.get_option(option)->needs(measure);
  add_quiet(command, arguments->quiet);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.add_option("--html", arguments->html, "Write one HTML page to this file")
      ->type_name("OUT");
  command.footer(
      "Example:\n  sinter explain softmax.sinter --size rows=4096 --arch sm_90\n"
      "  sinter explain softmax.sinter --size rows=4096 --measure --html softmax.html");
  set_graph_action(command, action, arguments, explain);
}

}  // namespace sinter::command
