// Counters: what the process has done since its start.
#pragma once

#include <cstdint>
#include <string>

#include "sinter/options.h"
#include "sinter/report.h"

namespace sinter {

/// Everything that is counted, of all devices and threads together.
struct Counters {
  CompileCounters kernels;  ///< the kernel cache in memory, and compiler runs
  DiskCounters disk;
  std::int64_t plans = 0;    ///< variants that were planned
  std::int64_t tunings = 0;  ///< kernels whose candidates were timed, not found among earlier ones
  std::int64_t kernel_launches = 0;  ///< one by one, by runs and profiles
  std::int64_t graph_launches = 0;
  std::int64_t graph_builds = 0;
  std::int64_t patched_nodes = 0;  ///< of graphs that were built before
  std::int64_t copies = 0;         ///< that Device::upload, download and copy asked for
  std::int64_t copied_bytes = 0;
  std::int64_t device_bytes = 0;       ///< of Arrays, contexts and tuning that we hold now
  std::int64_t peak_device_bytes = 0;  ///< the most that we held at once
  std::int64_t idle_device_bytes = 0;  ///< that lie idle, beside those that we hold
  std::int64_t memory_hits = 0;        ///< Arrays and arenas that got what had lain idle
  std::int64_t memory_misses = 0;      ///< those that the driver was asked for
};

/// A snapshot, which waits for nobody. `options` say which disk cache is meant.
Counters counters(const Options& options = {});
std::string counters_json(const Counters& counters);

}  // namespace sinter
