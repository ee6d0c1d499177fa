#include "tools/sinter/explanation.h"

#include "compiler/guards.h"
#include "compiler/minimal_bytes.h"
#include "runtime/kernel_report.h"
#include "runtime/nvrtc_units.h"
#include "runtime/parallel.h"
#include "tools/sinter/emitted.h"

#include <exception>
#include <functional>

namespace sinter::command {

namespace {

/// Compiles each kernel as a program of its own, so that its time is its own.
void add_cubins(const EmittedProgram& program, const Target& target, Explanation& result) {
  std::vector<std::exception_ptr> failures(result.kernels.size());
  std::vector<std::function<void()>> jobs;
  for (std::size_t i = 0; i < result.kernels.size(); ++i)
    jobs.push_back([&, i] {
      try {
        const Source& source = program.kernels()[i].source;
        NvrtcUnit unit = compile_unit({&source, 1}, std::string(target.arch));
        result.kernels[i].cubin = std::move(unit.reports.front());
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  run_parallel(jobs);
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (KernelExplanation& kernel : result.kernels)
    kernel.blocks_per_sm = blocks_per_sm(target, kernel.report.threads, kernel.cubin->registers,
                                         kernel.report.shared_bytes);
}

void add_totals(const KernelReport& kernel, std::int64_t& launches, std::int64_t& bytes) {
  launches += kernel.launches;
  bytes += kernel.launches * (kernel.bytes_read + kernel.bytes_written);
}

}  // namespace

Explanation explain(const Graph& graph, const Target& target, std::span<const std::int64_t> symbols,
                    Numerics numerics) {
  const EmittedProgram fused(graph, target, symbols, plan_options(numerics));
  const Program& program = fused.program();
  Explanation result{.graph = std::string(graph.name()),
                     .target = &target,
                     .recorded_ops = program.recorded_ops,
                     .why_no_nvrtc = why_no_nvrtc(),
                     .minimal_bytes = minimal_bytes(program.graph->data(), symbols)};
  const KernelReporter reporter(program, symbols);
  for (const EmittedProgram::Item& item : fused.kernels()) {
    KernelReport report = reporter.report(*item.kernel, item.kernel->schedule, item.source);
    add_totals(report, result.launches, result.bytes);
    result.kernels.push_back({.name = item.kernel->name, .report = std::move(report)});
  }
  for (const Boundary& boundary : program.boundaries)
    result.boundaries.push_back({.producer = boundary.producer,
                                 .consumer = boundary.consumer,
                                 .reason = boundary.reason,
                                 .is_inside = boundary.is_inside});
  for (const Guard& guard : program.guards)
    result.guards.push_back(to_string(guard) + ": " + guard.reason);

  PlanOptions options = plan_options(numerics);
  options.fuse = false;
  const EmittedProgram unfused(graph, target, symbols, options);
  const KernelReporter unfused_reporter(unfused.program(), symbols);
  for (const EmittedProgram::Item& item : unfused.kernels())
    add_totals(unfused_reporter.report(*item.kernel, item.kernel->schedule, item.source),
               result.unfused_launches, result.unfused_bytes);

  if (result.why_no_nvrtc.empty()) add_cubins(fused, target, result);
  return result;
}

}  // namespace sinter::command
