#include "runtime/execution/kernel_report.h"

#include <algorithm>

#include "compiler/program/guards.h"
#include "ir/shape/extent.h"

namespace sinter {

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

KernelReporter::KernelReporter(const Program& program, std::span<const std::int64_t> symbols)
    : program_(program), symbols_(symbols), names_(program.names()) {}

KernelReport KernelReporter::report(const Kernel& kernel, const Schedule& schedule,
                                    const Source& source) const {
  const std::int64_t grid = evaluate(source.grid, symbols_);
  KernelReport report{.name = source.entry,
                      .kind = std::string(name(kernel.kind)),
                      .schedule = to_string(schedule),
                      .source = source.text,
                      .launches = grid > 0 ? 1 : 0,
                      .bytes_read = evaluate(source.traffic.bytes_read, symbols_),
                      .bytes_written = evaluate(source.traffic.bytes_written, symbols_),
                      .threads = source.threads,
                      .grid = grid,
                      .cluster = source.cluster,
                      .vector_bytes = source.vector_bytes,
                      .shared_bytes = source.shared_bytes,
                      .notes = kernel.notes};
  for (const Kernel& section : kernel.sections)
    report.sections.push_back({.name = section.name,
                               .phase = section.phase,
                               .kind = std::string(name(section.kind)),
                               .list = section.foreach_list});
  report.minimal_bytes =
      std::min(bytes_of_buffers(kernel, source), report.bytes_read + report.bytes_written);
  report.bytes_are_bounds = source.traffic.is_bound;
  report.writes_are_bounds = source.traffic.writes_are_bound;
  if (kernel.kind == KernelKind::opaque) {
    report.schedule.clear();
    report.grid = 0;
    report.nodes.push_back(opaque_text(kernel.nodes, names_));
    report.places.push_back(program_.graph->data().location_text(kernel.nodes.front()));
    return report;
  }
  for (const Node* node : kernel.nodes) {
    report.nodes.push_back(statement_text(*node, names_));
    report.places.push_back(program_.graph->data().location_text(node));
  }
  return report;
}

/// The bytes of each buffer that the kernel uses, counted once. A buffer that it updates in place
/// counts twice, since it is read and written.
std::int64_t KernelReporter::bytes_of_buffers(const Kernel& kernel, const Source& source) const {
  DenseSet<int> written;
  for (const Store& store : kernel.stores) written.insert(store.buffer);
  const auto bytes_of_buffer = [&](int buffer) {
    return bytes_of(program_.buffers[static_cast<std::size_t>(buffer)], symbols_);
  };
  std::int64_t bytes = 0;
  for (const int buffer : buffers_of(source)) bytes += bytes_of_buffer(buffer);
  for (const int buffer : kernel.reads)
    if (written.contains(buffer)) bytes += bytes_of_buffer(buffer);
  return bytes;
}

}  // namespace sinter
