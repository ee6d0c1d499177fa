#include "sinter/counters.h"

#include <nlohmann/json.hpp>

#include "runtime/cache/disk_cache.h"
#include "runtime/logging/counting.h"
#include "runtime/support/json_tree.h"
#include "runtime/support/options_table.h"

namespace sinter {

Counters counters(const Options& options) {
  const MemoryCounts memory = memory_counts();
  return {.kernels = {.hits = counted(Count::kernel_hits),
                      .misses = counted(Count::kernel_misses),
                      .compiles = counted(Count::compiles),
                      .evicted = counted(Count::kernels_evicted)},
          .disk = disk_cache(with_environment(options).cache).counters(),
          .plans = counted(Count::plans),
          .tunings = counted(Count::tunings),
          .kernel_launches = counted(Count::kernel_launches),
          .graph_launches = counted(Count::graph_launches),
          .graph_builds = counted(Count::graph_builds),
          .patched_nodes = counted(Count::patched_nodes),
          .copies = counted(Count::copies),
          .copied_bytes = counted(Count::copied_bytes),
          .device_bytes = memory.live_bytes,
          .peak_device_bytes = memory.peak_bytes,
          .idle_device_bytes = memory.idle_bytes,
          .memory_hits = counted(Count::memory_hits),
          .memory_misses = counted(Count::memory_misses)};
}

std::string counters_json(const Counters& counters) {
  using Json = nlohmann::ordered_json;
  Json reasons = Json::array();
  for (const DiskCounters::Reason& reason : counters.disk.reasons)
    reasons.push_back({{"text", reason.text}, {"count", reason.count}});
  const Json json = {{"kernels",
                      {{"hits", counters.kernels.hits},
                       {"misses", counters.kernels.misses},
                       {"compiles", counters.kernels.compiles},
                       {"evicted", counters.kernels.evicted}}},
                     {"disk",
                      {{"hits", counters.disk.hits},
                       {"misses", counters.disk.misses},
                       {"stored", counters.disk.stored},
                       {"evicted", counters.disk.evicted},
                       {"reasons", reasons},
                       {"last_failure", counters.disk.last_failure},
                       {"directory", counters.disk.directory},
                       {"why_off", counters.disk.why_off}}},
                     {"plans", counters.plans},
                     {"tunings", counters.tunings},
                     {"kernel_launches", counters.kernel_launches},
                     {"graph_launches", counters.graph_launches},
                     {"graph_builds", counters.graph_builds},
                     {"patched_nodes", counters.patched_nodes},
                     {"copies", counters.copies},
                     {"copied_bytes", counters.copied_bytes},
                     {"device_bytes", counters.device_bytes},
                     {"peak_device_bytes", counters.peak_device_bytes},
                     {"idle_device_bytes", counters.idle_device_bytes},
                     {"memory_hits", counters.memory_hits},
                     {"memory_misses", counters.memory_misses}};
  return json_text(json);
}

}  // namespace sinter
