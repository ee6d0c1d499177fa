// The serialized fields of reports, in order, for saved files and the disk cache. A change here
// requires a new version of the section in saved files (runtime/saved/saved_file.h).
#pragma once

#include "runtime/support/archive.h"
#include "sinter/report.h"

namespace sinter {

void fields(auto& archive, SameOrConst<CandidateReport> auto& report) {
  archive(report.schedule, report.median_us, report.lower_quartile_us, report.upper_quartile_us,
          report.gigabytes_per_second, report.registers, report.chosen, report.problem,
          report.differs);
}

void fields(auto& archive, SameOrConst<CubinReport> auto& report) {
  archive(report.arch, report.reason, report.registers, report.spill_bytes, report.instructions,
          report.loads_in_flight, report.loads_before_wait, report.bytes_in_flight,
          report.cubin_bytes, report.compile_ms);
}

void fields(auto& archive, SameOrConst<SectionReport> auto& report) {
  archive(report.name, report.phase, report.kind, report.list);
}

/// Without the source, which is saved with the kernel.
void fields(auto& archive, SameOrConst<KernelReport> auto& report) {
  archive(report.name, report.kind, report.sections, report.nodes, report.places, report.schedule,
          report.launches, report.bytes_read, report.bytes_written, report.bytes_are_bounds,
          report.writes_are_bounds, report.minimal_bytes, report.threads, report.grid,
          report.planned_blocks, report.cluster, report.vector_bytes, report.registers,
          report.spill_bytes, report.shared_bytes, report.cubin, report.notes, report.candidates,
          report.tuning);
}

void fields(auto& archive, SameOrConst<BoundaryReport> auto& report) {
  archive(report.producer, report.consumer, report.reason, report.is_inside, report.bytes);
}

/// Without durations: a process that loads a file plans, compiles and tunes nothing.
void fields(auto& archive, SameOrConst<VariantReport> auto& report) {
  archive(report.reason, report.sizes, report.guards, report.alignment, report.arena_bytes,
          report.kernels, report.boundaries);
}

}  // namespace sinter
