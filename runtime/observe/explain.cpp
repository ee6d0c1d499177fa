#include "sinter/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compiler/body/minimal_bytes.h"
#include "compiler/cost/cost.h"
#include "ir/shape/extent.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/device/target_file.h"
#include "runtime/execution/plan_target.h"
#include "runtime/execution/variant_report.h"
#include "runtime/observe/emitted.h"
#include "runtime/observe/explain_graph.h"
#include "runtime/observe/static_analysis.h"
#include "runtime/support/options_table.h"
#include "runtime/support/parallel.h"

namespace sinter {

namespace {

PlanOptions plan_options(const Options& options, bool fuse) {
  return {.fuse = fuse,
          .numerics = {.rounding = options.rounding, .math = options.math},
          .skip = options.skip,
          .bucket_bytes = options.bucket_bytes};
}

/// Adds the schedules that tuning would try, without measurements.
void add_candidates(const Kernel& kernel, KernelReport& report) {
  if (kernel.kind == KernelKind::opaque) return;
  std::vector<std::string> seen;
  for (const Schedule& schedule : kernel.candidates) {
    std::string text = to_string(schedule);
    if (std::ranges::find(seen, text) != seen.end()) continue;
    report.candidates.push_back({.schedule = text, .chosen = schedule == kernel.schedule});
    seen.push_back(std::move(text));
  }
  report.tuning = "nothing was measured: tuning would compare these with the default schedule";
}

void add_totals(const KernelReport& kernel, std::int64_t& launches, std::int64_t& bytes) {
  launches += kernel.launches;
  bytes += kernel.launches * (kernel.bytes_read + kernel.bytes_written);
}

/// Compiles each kernel as a separate program, so that compile times are per kernel.
void compile_each(const EmittedProgram& emitted, const Target& target, Explanation& result) {
  std::vector<std::function<void()>> jobs;
  for (std::size_t i = 0; i < result.kernels.size(); ++i)
    if (!emitted.kernels()[i].is_call())
      jobs.push_back([&, i] {
        const Source& source = emitted.kernels()[i].source;
        KernelExplanation& kernel = result.kernels[i];
        NvrtcUnit unit = compile_unit({&source, 1}, std::string(target.arch));
        kernel.report.cubin = std::move(unit.reports.front());
        kernel.report.registers = kernel.report.cubin.registers;
        kernel.report.spill_bytes = kernel.report.cubin.spill_bytes;
        kernel.report.compile_ms = unit.milliseconds;
        add_static_analysis(kernel, emitted.program(), source, unit.ptx, target);
      });
  run_parallel(jobs);
}

void add_kernels(const EmittedProgram& emitted, const Target& target,
                 std::span<const std::int64_t> symbols, Explanation& result) {
  for (const EmittedProgram::Item& item : emitted.kernels()) {
    KernelExplanation kernel{.name = item.kernel->name,
                             .report = kernel_report(emitted.program(), *item.kernel,
                                                     item.kernel->schedule, item.source, symbols)};
    if (kernel.report.launches > 0) {
      const Cost cost = cost_of(emitted.program(), *item.kernel, target);
      kernel.predicted_us = cost.seconds * 1e6;
      kernel.instructions = cost.instructions;
    }
    add_candidates(*item.kernel, kernel.report);
    add_totals(kernel.report, result.launches, result.bytes);
    result.predicted_us += kernel.predicted_us;
    result.kernels.push_back(std::move(kernel));
  }
}

Explanation explain_for(const Target& target, const Graph& graph, std::span<const Size> sizes,
                        const Options& options) {
  std::vector<NamedSize> named;
  for (const Size& size : sizes) named.push_back({size.symbol, size.value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  const EmittedProgram emitted(graph, target, symbols, plan_options(options, options.fuse),
                               options.force_candidate);
  const Program& program = emitted.program();
  Explanation result{.graph = std::string(graph.name()),
                     .target = std::string(target.name),
                     .arch = std::string(target.arch),
                     .roofs = {.bytes_per_second = target.bandwidth,
                               .instructions_per_second = issue_rate(target),
                               .launch_us = target.launch_seconds * 1e6,
                               .bytes_in_flight = target.bytes_in_flight},
                     .sizes = size_texts(*graph.data().extents, symbols),
                     .recorded_ops = program.recorded_ops,
                     .boundaries = boundary_reports(program),
                     .guards = guard_texts(program),
                     .why_not_compiled = target.is_cpu ? "the plan is for the CPU; choose a GPU as target"
                                                       : nvrtc_problem(),
                     .minimal_bytes = minimal_bytes(program.graph->data(), symbols)};
  add_kernels(emitted, target, symbols, result);
  add_graph(result, graph, program, target, symbols, plan_options(options, options.fuse));

  const EmittedProgram unfused(graph, target, symbols, plan_options(options, false));
  for (const EmittedProgram::Item& item : unfused.kernels())
    add_totals(
        kernel_report(unfused.program(), *item.kernel, item.kernel->schedule, item.source, symbols),
        result.unfused_launches, result.unfused_bytes);

  if (result.why_not_compiled.empty()) compile_each(emitted, target, result);
  return result;
}

}  // namespace

Explanation explain(const Graph& graph, std::span<const Size> sizes, const Options& options) {
  const std::string file = with_environment(options).target_file;
  return explain_for(with_target_file(target_named(options.target), file), graph, sizes, options);
}

Explanation explain(const Graph& graph, std::initializer_list<Size> sizes, const Options& options) {
  return explain(graph, std::span(sizes.begin(), sizes.size()), options);
}

Explanation explain(const Graph& graph, std::span<const Size> sizes, Device device,
                    const Options& options) {
  return explain_for(plan_target(*device.state(), with_environment(options)), graph, sizes,
                     options);
}

}  // namespace sinter
