#include "runtime/cache/cache_sweep.h"

#include <filesystem>

#include "runtime/cache/cache_contents.h"

namespace sinter {

namespace fs = std::filesystem;

SweepResult sweep_cache(const std::string& directory, std::int64_t max_bytes) {
  const CacheContents contents = list_cache(directory);
  remove_unfinished(contents);
  SweepResult result{.bytes = contents.bytes()};
  if (result.bytes <= max_bytes) return result;
  for (const CachedEntry& entry : contents.entries) {
    if (result.bytes <= max_bytes / 10 * 9) break;
    for (const fs::path& file : entry.files) {
      std::error_code ignored;
      fs::remove(file, ignored);
    }
    result.bytes -= entry.bytes;
    ++result.evicted;
  }
  return result;
}

}  // namespace sinter
