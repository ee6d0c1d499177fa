// Counters: statistics of the process since its start.
#pragma once

#include <cstdint>
#include <string>

#include "sinter/options.h"
#include "sinter/report.h"

namespace sinter {

/// Counts over all devices and threads of the process.
struct Counters {
  CompileCounters kernels;  ///< the kernel cache in memory, and compiler runs
  DiskCounters disk;
  std::int64_t plans = 0;            ///< variants that were planned
  std::int64_t tunings = 0;          ///< kernels whose candidates were timed, not looked up
  std::int64_t kernel_launches = 0;  ///< single launches, by runs and profiles
  std::int64_t graph_launches = 0;
  std::int64_t graph_builds = 0;
  std::int64_t patched_nodes = 0;  ///< in graphs that already existed
  std::int64_t copies = 0;         ///< by Device::upload, download and copy
  std::int64_t copied_bytes = 0;
  std::int64_t device_bytes = 0;       ///< in use now by Arrays, Contexts and tuning
  std::int64_t peak_device_bytes = 0;  ///< the maximum of device_bytes so far
  std::int64_t idle_device_bytes = 0;  ///< kept for reuse, in addition to device_bytes
  std::int64_t memory_hits = 0;        ///< Arrays and arenas that reused idle memory
  std::int64_t memory_misses = 0;      ///< Arrays and arenas that the driver allocated
};

/// A snapshot of the counters. It waits for no work. `options.cache` selects the disk cache.
Counters counters(const Options& options = {});
std::string counters_json(const Counters& counters);

}  // namespace sinter
