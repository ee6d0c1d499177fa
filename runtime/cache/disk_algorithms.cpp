#include "runtime/cache/disk_algorithms.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "runtime/cache/disk_cache.h"
#include "runtime/logging/debug_log.h"

namespace sinter {

namespace {

constexpr std::chrono::seconds kLongestPublishWait(1);

CacheName algorithm_entry(const AlgorithmKey& key) { return name_of("algorithm\n" + key.text()); }

}  // namespace

std::optional<std::vector<std::byte>> DiskAlgorithms::find(const AlgorithmKey& key) {
  return disk_cache(options_.cache).find(algorithm_entry(key), DiskCache::Lookup::uncounted);
}

std::vector<std::byte> DiskAlgorithms::publish(const AlgorithmKey& key,
                                               std::span<const std::byte> bytes,
                                               std::span<const std::byte> refused) {
  DiskCache& cache = disk_cache(options_.cache);
  const CacheName name = algorithm_entry(key);
  const std::vector<std::byte> own(bytes.begin(), bytes.end());
  if (!refused.empty()) {
    // Several processes may refuse an entry: the first one to get the lock replaces it.
    const CacheLock lock = cache.lock({&name, 1}, kLongestPublishWait);
    const auto present = cache.find(name, DiskCache::Lookup::uncounted);
    if (present && std::ranges::equal(*present, refused)) {
      cache.store(name, bytes);
      return own;
    }
    if (present) return *present;
  }
  if (cache.store(name, bytes, {}, Durability::power, Existing::keep)) return own;
  return cache.find(name, DiskCache::Lookup::uncounted).value_or(own);
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
