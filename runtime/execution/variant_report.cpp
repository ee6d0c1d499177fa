#include "runtime/execution/variant_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/program/guards.h"
#include "ir/collectives/collective_node.h"
#include "ir/shape/extent.h"
#include "ir/text/print.h"
#include "runtime/collectives/collective_traffic.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/device/launch_grid.h"
#include "runtime/execution/executable_state.h"
#include "runtime/execution/launch_set.h"
#include "runtime/tuning/measure_candidates.h"

namespace sinter {

namespace {

/// The bytes of each buffer that the kernel uses, counted once. A buffer that it updates in place
/// counts twice, since it is read and written.
std::int64_t bytes_of_buffers(const Program& program, const Kernel& kernel, const Source& source,
                              std::span<const std::int64_t> symbols) {
  DenseSet<int> written;
  for (const Store& store : kernel.stores) written.insert(store.buffer);
  const auto bytes_of_buffer = [&](int buffer) {
    return bytes_of(program.buffers[static_cast<std::size_t>(buffer)], symbols);
  };
  std::int64_t bytes = 0;
  for (const int buffer : buffers_of(source)) bytes += bytes_of_buffer(buffer);
  for (const int buffer : kernel.reads)
    if (written.contains(buffer)) bytes += bytes_of_buffer(buffer);
  return bytes;
}

KernelReport compiled_report(const Variant& variant, std::size_t index,
                             std::span<const std::int64_t> symbols, const CompileResult& compiled,
                             const TuneResult& tuned) {
  const VariantKernel& kernel = variant.kernels[index];
  const auto chosen = static_cast<std::size_t>(tuned.chosen);
  KernelReport report = kernel_report(variant.program, variant.program.kernels[index],
                                      kernel.schedule, kernel.source, symbols);
  report.tuning = tuned.summary;
  if (!compiled.unit) return report;  // an opaque call
  report.grid = grid_size(kernel.source, kernel.grid_limit, symbols);
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

/// The kernels that a chain of dependencies orders with kernel `number`, and the kernel itself.
std::vector<bool> ordered_with(const Program& program, std::size_t number) {
  const std::vector<Kernel>& kernels = program.kernels;
  std::vector<bool> result(kernels.size());
  result[number] = true;
  for (std::size_t i = number + 1; i-- > 0;)
    if (result[i])
      for (const int before : kernels[i].depends_on) result[static_cast<std::size_t>(before)] = true;
  std::vector<bool> is_after(kernels.size());
  is_after[number] = true;
  for (std::size_t i = number + 1; i < kernels.size(); ++i)
    for (const int before : kernels[i].depends_on)
      if (is_after[static_cast<std::size_t>(before)]) result[i] = is_after[i] = true;
  return result;
}

/// The traffic of a collective between ranks, and the kernels that may run at the same time.
std::string note_of_collective(const Program& program, const Kernel& kernel, std::int64_t sent) {
  const Node& node = *kernel.nodes.front();
  std::string text = fmt::format("each rank of group {} sends at least {} bytes to other ranks; ",
                                 group_of(node), sent);
  const auto number = static_cast<std::size_t>(&kernel - program.kernels.data());
  const std::vector<bool> is_ordered = ordered_with(program, number);
  std::vector<std::string_view> beside;
  for (std::size_t i = 0; i < program.kernels.size(); ++i)
    if (!is_ordered[i]) beside.push_back(program.kernels[i].name);
  return text + (beside.empty() ? "no kernel can run beside it"
                                : fmt::format("beside it can run {}", fmt::join(beside, ", ")));
}

}  // namespace

std::vector<BoundaryReport> boundary_reports(const Program& program) {
  std::vector<BoundaryReport> reports;
  for (const Boundary& boundary : program.boundaries)
    reports.push_back({.producer = boundary.producer,
                       .consumer = boundary.consumer,
                       .reason = boundary.reason,
                       .is_inside = boundary.is_inside,
                       .bytes = static_cast<std::int64_t>(boundary.bytes)});
  return reports;
}

std::vector<std::string> guard_texts(const Program& program) {
  std::vector<std::string> texts;
  for (const Guard& guard : program.guards) texts.push_back(to_string(guard) + ": " + guard.reason);
  return texts;
}

KernelReport kernel_report(const Program& program, const Kernel& kernel, const Schedule& schedule,
                           const Source& source, std::span<const std::int64_t> symbols) {
  const ValueNames& names = program.names();
  const std::int64_t grid = evaluate(source.grid, symbols);
  KernelReport report{.name = source.entry,
                      .kind = std::string(name(kernel.kind)),
                      .schedule = to_string(schedule),
                      .source = source.text,
                      .launches = grid > 0 ? 1 : 0,
                      .bytes_read = evaluate(source.traffic.bytes_read, symbols),
                      .bytes_written = evaluate(source.traffic.bytes_written, symbols),
                      .threads = source.threads,
                      .grid = grid,
                      .planned_blocks = source.planned_blocks,
                      .cluster = source.cluster,
                      .vector_bytes = source.vector_bytes,
                      .shared_bytes = source.shared_bytes,
                      .notes = kernel.notes};
  for (const Kernel& section : kernel.sections)
    report.sections.push_back({.name = section.name,
                               .phase = section.phase,
                               .kind = std::string(name(section.kind)),
                               .list = section.foreach_list});
  report.minimal_bytes = std::min(bytes_of_buffers(program, kernel, source, symbols),
                                  report.bytes_read + report.bytes_written);
  report.bytes_are_bounds = source.traffic.is_bound;
  report.writes_are_bounds = source.traffic.writes_are_bound;
  if (kernel.kind == KernelKind::opaque) {
    report.schedule.clear();
    report.grid = 0;
    report.nodes.push_back(opaque_text(kernel.nodes, names));
    if (const Node& call = *kernel.nodes.front(); is_collective(call.op)) {
      report.bytes_sent = bytes_sent(call, symbols);
      report.notes.push_back(note_of_collective(program, kernel, report.bytes_sent));
    }
    report.places.push_back(program.graph->data().location_text(kernel.nodes.front()));
    return report;
  }
  for (const Node* node : kernel.nodes) {
    report.nodes.push_back(statement_text(*node, names));
    report.places.push_back(program.graph->data().location_text(node));
  }
  return report;
}

VariantReport report_of(const Variant& variant, const VariantRequest& request,
                        std::span<const CompileResult> compiled,
                        std::span<const TuneResult> tuned) {
  const Program& program = variant.program;
  VariantReport report{
      .reason = request.reason,
      .is_provisional = variant.is_provisional,
      .alignment = variant.alignment,
      .arena_bytes = lay_out(variant, MemoryPlanner(program), request.symbols).arena_bytes};
  report.sizes = size_texts(*program.graph->data().extents, request.symbols);
  report.guards = guard_texts(program);
  report.boundaries = boundary_reports(program);
  for (std::size_t i = 0; i < program.kernels.size(); ++i)
    report.kernels.push_back(compiled_report(variant, i, request.symbols, compiled[i], tuned[i]));
  return report;
}

}  // namespace sinter
