#include "runtime/cache/disk_algorithms.h"

#include <fmt/format.h>

#include "runtime/cache/disk_cache.h"
#include "runtime/logging/debug_log.h"

namespace sinter {

namespace {

CacheName algorithm_entry(const AlgorithmKey& key) { return name_of("algorithm\n" + key.text()); }

}  // namespace

std::optional<std::vector<std::byte>> DiskAlgorithms::find(const AlgorithmKey& key) {
  return disk_cache(options_.cache).find(algorithm_entry(key), DiskCache::Lookup::uncounted);
}

void DiskAlgorithms::put(const AlgorithmKey& key, std::span<const std::byte> bytes) {
  disk_cache(options_.cache).store(algorithm_entry(key), bytes);
}

void DiskAlgorithms::log_refusal(const AlgorithmKey& key, const std::string& why) {
  log_line(options_, LogLevel::notes, [&] {
    return fmt::format(
        "the stored algorithm of {} on {} for {} is not used: {}; the library chooses another one, "
        "so bits may differ from earlier runs",
        key.library, key.device, key.problem, why);
  });
}

}  // namespace sinter
