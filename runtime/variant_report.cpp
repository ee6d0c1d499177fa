#include "runtime/variant_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/extent.h"
#include "ir/print.h"
#include "runtime/launch_set.h"

namespace sinter {

namespace {

/// `16 <= rows * 4 <= 1024, divisible by 4: reason`
std::string guard_text(const Guard& guard) {
  std::string text = to_string(guard.value);
  if (guard.low > 0) text = fmt::format("{} <= {}", guard.low, text);
  if (guard.high != INT64_MAX) text += fmt::format(" <= {}", guard.high);
  if (guard.divisor != 1) text += fmt::format(", a multiple of {}", guard.divisor);
  return guard.reason.empty() ? text : fmt::format("{}: {}", text, guard.reason);
}

class KernelReporter {
 public:
  KernelReporter(const Variant& variant, std::span<const std::int64_t> symbols)
      : variant_(variant), symbols_(symbols), names_(variant.program.graph->data()) {}

  KernelReport report(std::size_t index, const CompileResult& compiled,
                      const TuneResult& tuned) const {
    const Kernel& kernel = variant_.program.kernels[index];
    const Source& source = variant_.kernels[index].source;
    const auto chosen = static_cast<std::size_t>(tuned.chosen);
    const std::int64_t grid = evaluate(source.grid, symbols_);
    KernelReport report{.name = source.entry,
                        .kind = std::string(name(kernel.kind)),
                        .schedule = tuned.candidates[chosen].schedule,
                        .source = source.text,
                        .launches = grid > 0 ? 1 : 0,
                        .bytes_read = evaluate(source.traffic.bytes_read, symbols_),
                        .bytes_written = evaluate(source.traffic.bytes_written, symbols_),
                        .threads = source.threads,
                        .grid = grid,
                        .registers = compiled.unit->functions[chosen].registers,
                        .spill_bytes = compiled.unit->functions[chosen].spill_bytes,
                        .shared_bytes = source.shared_bytes,
                        .compile_ms = compiled.was_cached ? 0 : compiled.unit->milliseconds,
                        .notes = kernel.notes,
                        .candidates = tuned.candidates,
                        .tuning = tuned.summary};
    report.minimal_bytes =
        std::min(bytes_of_buffers(source), report.bytes_read + report.bytes_written);
    report.vector_bytes = vector_bytes(variant_.kernels[index]);
    add_nodes(kernel, report);
    if (chosen < compiled.unit->cubins.size()) {
      report.cubin = compiled.unit->cubins[chosen];
      report.registers = report.cubin.registers;
      report.spill_bytes = report.cubin.spill_bytes;
    }
    return report;
  }

 private:
  const Buffer& buffer(const Argument& argument) const {
    return variant_.program.buffers[static_cast<std::size_t>(argument.index)];
  }

  /// Everything that the kernel takes, once.
  std::int64_t bytes_of_buffers(const Source& source) const {
    std::int64_t bytes = 0;
    for (const Argument& argument : source.arguments)
      if (argument.kind == Argument::Kind::buffer)
        bytes += evaluate(buffer(argument).elements, symbols_) * size_of(buffer(argument).dtype);
    return bytes;
  }

  int vector_bytes(const VariantKernel& kernel) const {
    int widest = 0;
    for (const Argument& argument : kernel.source.arguments)
      if (argument.kind == Argument::Kind::buffer)
        widest = std::max(widest,
                          std::min(16, kernel.schedule.vector * size_of(buffer(argument).dtype)));
    return widest;
  }

  void add_nodes(const Kernel& kernel, KernelReport& report) const {
    const GraphData& graph = variant_.program.graph->data();
    for (const Node* node : kernel.nodes) {
      report.nodes.push_back(statement_text(*node, names_));
      report.places.push_back(graph.place(node));
    }
  }

  const Variant& variant_;
  std::span<const std::int64_t> symbols_;
  ValueNames names_;
};

}  // namespace

VariantReport report_of(const Variant& variant, const VariantRequest& request,
                        std::span<const CompileResult> compiled,
                        std::span<const TuneResult> tuned) {
  const Program& program = variant.program;
  VariantReport report{.reason = request.reason,
                       .alignment = variant.alignment,
                       .arena_bytes = lay_out(variant, request.symbols).arena_bytes};
  for (const ExtentAtom* symbol : program.graph->data().extents->symbols())
    report.sizes.push_back(fmt::format("{} = {}", symbol->name,
                                       request.symbols[static_cast<std::size_t>(symbol->id)]));
  for (const Guard& guard : program.guards) report.guards.push_back(guard_text(guard));
  for (const Boundary& boundary : program.boundaries)
    report.boundaries.push_back({.producer = boundary.producer,
                                 .consumer = boundary.consumer,
                                 .reason = boundary.reason});
  const KernelReporter reporter(variant, request.symbols);
  for (std::size_t i = 0; i < program.kernels.size(); ++i)
    report.kernels.push_back(reporter.report(i, compiled[i], tuned[i]));
  return report;
}

}  // namespace sinter
