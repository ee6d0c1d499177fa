#include "print.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace digits {

using namespace sinter;  // NOLINT

namespace {

struct Totals {
  int launches = 0;
  std::int64_t bytes = 0;
};

Totals totals_of(const Report& report) {
  Totals totals;
  for (const KernelReport& kernel : report.kernels) {
    totals.launches += kernel.launches;
    totals.bytes += kernel.bytes_read + kernel.bytes_written;
  }
  return totals;
}

}  // namespace

void print_programs(const Report& fused, const Report& unfused) {
  const Totals with = totals_of(fused);
  const Totals without = totals_of(unfused);
  std::printf("%d recorded ops -> %d kernels (unfused: %d)\n", fused.recorded_ops, with.launches,
              without.launches);
  std::printf("bytes moved per step: %lld fused, %lld unfused (%.1f times as many)\n",
              static_cast<long long>(with.bytes), static_cast<long long>(without.bytes),
              static_cast<double>(without.bytes) / static_cast<double>(with.bytes));
  for (const BoundaryReport& boundary : fused.boundaries)
    std::printf("  %s | %s: %s\n", boundary.producer.c_str(), boundary.consumer.c_str(),
                boundary.reason.c_str());
}

void print_a_kernel(const Report& report) {
  const auto& kernel = *std::ranges::max_element(
      report.kernels, {}, [](const KernelReport& each) { return each.nodes.size(); });
  std::printf("\nOne of the kernels:\n\n%s", kernel.source.c_str());
}

void print_cubins(std::initializer_list<const Report*> reports) {
  int kernels = 0;
  int spilling = 0;
  for (const Report* report : reports)
    for (const KernelReport& kernel : report->kernels) {
      if (!kernel.cubin.why_not.empty()) {
        std::printf("\nNo kernel was compiled for a GPU: %s\n", kernel.cubin.why_not.c_str());
        return;
      }
      ++kernels;
      spilling += kernel.cubin.spill_bytes > 0;
    }
  std::printf("\nAll %d kernels, fused and unfused, compiled by NVRTC for %s; %d of them spill.\n",
              kernels, (*reports.begin())->kernels[0].cubin.arch.c_str(), spilling);
  for (const KernelReport& kernel : (*reports.begin())->kernels)
    std::printf("  %-24s %-14s %3d registers  %d bytes spilled  %5lld instructions\n",
                kernel.name.c_str(), kernel.kind.c_str(), kernel.cubin.registers,
                kernel.cubin.spill_bytes, static_cast<long long>(kernel.cubin.instructions));
}

void print_loops(const Trained& naive, const Trained& fused, const Trained& replayed) {
  std::printf("\nPer step            launches    syncs       us\n");
  for (const auto& [name, loop] : {std::pair{"naive, unfused", &naive},
                                   std::pair{"fused", &fused},
                                   std::pair{"fused, replayed", &replayed}})
    std::printf("  %-16s %9.2f %8.2f %8.1f\n", name, loop->launches_per_step, loop->syncs_per_step,
                loop->microseconds_per_step);
  std::printf("The replayed loop built its CUDA Graph %lld times and patched %.2f nodes per step.\n",
              static_cast<long long>(replayed.graph.builds),
              static_cast<double>(replayed.graph.patched_nodes) / kSteps);
}

}  // namespace digits
