// The disk cache as its owner sees it: what lies there, whether it is sound, and taking it away.
// Other processes may use the cache meanwhile: what goes is at worst made once more.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cache/cache_entry.h"

namespace sinter {

/// An entry with what lies beside it: files of one name but for what follows the dot.
struct CachedEntry {
  std::string name;  ///< 64 hexadecimal digits, if it is an entry's
  std::vector<std::filesystem::path> files;
  std::int64_t bytes = 0;  ///< of all files
  std::filesystem::file_time_type used = std::filesystem::file_time_type::min();
};

struct CacheContents {
  std::vector<CachedEntry> entries;               ///< what was used longest ago first
  std::vector<std::filesystem::path> unfinished;  ///< files that others are writing, or left

  std::int64_t bytes() const;
};

/// What lies in a folder of entries; what others take away meanwhile is left out.
CacheContents list_cache(const std::string& entries_folder);

/// Takes away what nobody has finished writing for an hour.
void remove_unfinished(const CacheContents& contents);

/// What a listed entry holds.
struct CheckedEntry {
  std::vector<std::byte> payload;
  std::string damage;     ///< why it is of no use, in words; empty: it is sound
  bool is_gone = false;   ///< another process took it away
  bool is_alien = false;  ///< its files are not the cache's
};

/// Reads an entry and holds it against its checksums, name and owner. It is not marked as used.
CheckedEntry check_entry(const CachedEntry& entry);

/// How long to wait for another process that is at the same.
inline constexpr std::chrono::seconds kLongestCacheWait{10};

/// Takes away an entry that is damaged; looks again under the lock of its name, since another
/// process may have made it anew. True if it is gone.
bool remove_damaged(const std::string& entries_folder, const CachedEntry& entry);

struct PruneLimits {
  std::optional<std::int64_t> bytes;        ///< what was used longest ago goes, down to as many
  std::optional<std::chrono::seconds> age;  ///< what was not used for longer than that goes
};

struct PruneResult {
  std::int64_t entries = 0;  ///< that went
  std::int64_t bytes = 0;
  bool is_done = false;  ///< false: another process kept the cache to itself; nothing was done
  int error = 0;         ///< errno of the first file that would not go
};

/// Takes entries away, and what nobody has finished writing for an hour.
PruneResult prune_cache(const std::string& entries_folder, const PruneLimits& limits);

}  // namespace sinter
