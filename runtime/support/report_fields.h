// The fields of reports in saved files and in the disk cache, in their order. A change here changes
// the version of the section in saved files (runtime/saved/saved_file.h).
#pragma once

#include "runtime/support/archive.h"
#include "sinter/report.h"

namespace sinter {

template <class Archive, Is<CandidateReport> T>
void fields(Archive& archive, T& report) {
  archive(report.schedule, report.median_us, report.lower_quartile_us, report.upper_quartile_us,
          report.gigabytes_per_second, report.registers, report.chosen, report.problem,
          report.differs);
}

template <class Archive, Is<CubinReport> T>
void fields(Archive& archive, T& report) {
  archive(report.arch, report.reason, report.registers, report.spill_bytes, report.instructions,
          report.loads_in_flight, report.loads_before_wait, report.bytes_in_flight,
          report.cubin_bytes, report.compile_ms);
}

template <class Archive, Is<SectionReport> T>
void fields(Archive& archive, T& report) {
  archive(report.name, report.phase, report.kind, report.list);
}

/// Without the source, which the kernel has.
template <class Archive, Is<KernelReport> T>
void fields(Archive& archive, T& report) {
  archive(report.name, report.kind, report.sections, report.nodes, report.places, report.schedule,
          report.launches, report.bytes_read, report.bytes_written, report.bytes_are_bounds,
          report.writes_are_bounds, report.minimal_bytes, report.threads, report.grid,
          report.cluster, report.vector_bytes, report.registers, report.spill_bytes,
          report.shared_bytes, report.cubin, report.notes, report.candidates, report.tuning);
}

template <class Archive, Is<BoundaryReport> T>
void fields(Archive& archive, T& report) {
  archive(report.producer, report.consumer, report.reason, report.is_inside, report.bytes);
}

/// Without durations: nothing is planned, compiled or tuned by whoever loads it.
template <class Archive, Is<VariantReport> T>
void fields(Archive& archive, T& report) {
  archive(report.reason, report.sizes, report.guards, report.alignment, report.arena_bytes,
          report.kernels, report.boundaries);
}

}  // namespace sinter
