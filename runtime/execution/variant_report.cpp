#include "runtime/execution/variant_report.h"

#include "ir/shape/evaluate_extents.h"
#include "runtime/device/launch_grid.h"
#include "runtime/execution/kernel_report.h"
#include "runtime/execution/launch_set.h"

namespace sinter {

namespace {

KernelReport report_of(const Variant& variant, std::size_t index, const KernelReporter& reporter,
                       const CompileResult& compiled, const TuneResult& tuned) {
  const VariantKernel& kernel = variant.kernels[index];
  const auto chosen = static_cast<std::size_t>(tuned.chosen);
  KernelReport report =
      reporter.report(variant.program.kernels[index], kernel.schedule, kernel.source);
  report.tuning = tuned.summary;
  if (!compiled.unit) return report;  // an opaque call
  report.registers = compiled.unit->functions[chosen].registers;
  report.spill_bytes = compiled.unit->functions[chosen].spill_bytes;
  report.compile_ms = compiled.was_cached ? 0 : compiled.unit->milliseconds;
  report.candidates = tuned.candidates;
  if (chosen < compiled.unit->cubins.size()) {
    report.cubin = compiled.unit->cubins[chosen];
    if (report.cubin.registers > 0) {  // 0: the driver compiled it
      report.registers = report.cubin.registers;
      report.spill_bytes = report.cubin.spill_bytes;
    }
  }
  return report;
}

}  // namespace

VariantReport report_of(const Variant& variant, const VariantRequest& request,
                        std::span<const CompileResult> compiled,
                        std::span<const TuneResult> tuned) {
  const Program& program = variant.program;
  VariantReport report{
      .reason = request.reason,
      .is_provisional = variant.is_provisional,
      .alignment = variant.alignment,
      .arena_bytes = lay_out(variant, MemoryPlanner(variant.program), request.symbols).arena_bytes};
  report.sizes = size_texts(*program.graph->data().extents, request.symbols);
  report.guards = guard_texts(program);
  report.boundaries = boundary_reports(program);
  const KernelReporter reporter(program, request.symbols);
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const VariantKernel& kernel = variant.kernels[i];
    report.kernels.push_back(report_of(variant, i, reporter, compiled[i], tuned[i]));
    if (kernel.opaque) continue;
    report.kernels.back().grid = grid_size(kernel.source, kernel.grid_limit, request.symbols);
  }
  return report;
}

}  // namespace sinter
