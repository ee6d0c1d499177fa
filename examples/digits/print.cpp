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
  std::printf("%d recorded ops -> %d launch%s (unfused: %d)\n", fused.recorded_ops, with.launches,
              with.launches == 1 ? "" : "es", without.launches);
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

void print_registers(const std::vector<Report>& reports, std::string_view arch) {
  std::size_t kernels = 0;
  std::size_t spilling = 0;
  for (const Report& report : reports)
    for (const KernelReport& kernel : report.kernels) {
      if (!kernel.cubin.reason.empty()) {
        std::printf("\nNo kernel was compiled for a GPU: %s.\n", kernel.cubin.reason.c_str());
        return;
      }
      ++kernels;
      spilling += kernel.spill_bytes > 0;
    }
  std::printf(
      "\nAll %zu kernels of the three programs were compiled by NVRTC for %s; %zu of them spill.\n",
      kernels, std::string(arch).c_str(), spilling);
  for (const KernelReport& kernel : reports.front().kernels)
    std::printf("  %-24s %-14s %3d registers  %d bytes spilled\n", kernel.name.c_str(),
                kernel.kind.c_str(), kernel.registers, kernel.spill_bytes);
}

void print_loops(const Trained& naive, const Trained& fused, const Trained& replayed) {
  std::printf("\nPer step            launches    syncs  us (wall time)\n");
  for (const auto& [name, loop] : {std::pair{"naive, unfused", &naive}, std::pair{"fused", &fused},
                                   std::pair{"fused, replayed", &replayed}})
    std::printf("  %-16s %9.2f %8.2f %8.1f\n", name, loop->launches_per_step, loop->syncs_per_step,
                loop->microseconds_per_step);
  std::printf(
      "The replayed loop built its CUDA Graph %lld times and patched %.2f nodes per step.\n",
      static_cast<long long>(replayed.counters.graph_builds),
      static_cast<double>(replayed.counters.patched_nodes) / replayed.steps);
}

}  // namespace digits
