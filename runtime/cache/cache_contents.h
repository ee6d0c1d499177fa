// Lists, checks and removes entries of the disk cache. Other processes may use the cache at the
// same time: at worst they compile a removed entry again.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sinter {

/// An entry with its companion files: all files of one name, extensions aside.
struct CachedEntry {
  std::string name;                          ///< 64 hexadecimal digits if it names an entry
  std::vector<std::filesystem::path> files;  ///< the entry itself first, if it is there
  std::int64_t bytes = 0;                    ///< of all files
  std::filesystem::file_time_type used = std::filesystem::file_time_type::min();
};

struct CacheContents {
  std::vector<CachedEntry> entries;               ///< least recently used first
  std::vector<std::filesystem::path> unfinished;  ///< being written, or abandoned

  std::int64_t bytes() const;
};

/// Lists the entries below a folder. Files that others remove meanwhile are left out.
CacheContents list_cache(const std::string& entries_folder);

/// The payload of a listed entry, or the reason why it is unusable.
struct CheckedEntry {
  std::vector<std::byte> payload = {};
  std::string damage = {};  ///< why it is unusable; empty: it is intact
  bool is_gone = false;     ///< another process removed it
  bool is_foreign = false;  ///< its files do not belong to the cache
};

/// Reads an entry and checks its checksums, name and owner. Does not mark it as used.
CheckedEntry check_entry(const CachedEntry& entry);

/// The longest wait for a lock that another process holds.
inline constexpr std::chrono::seconds kLongestCacheWait{10};

/// Removes a damaged entry. Checks it again under the lock of its name first, because another
/// process may have replaced it. True if the damaged entry is gone.
bool remove_damaged(const std::string& entries_folder, const CachedEntry& entry);

struct PruneLimits {
  std::optional<std::int64_t> bytes;  ///< a larger cache loses its least recently used entries,
  std::int64_t headroom = 0;          ///< until it is this much smaller than `bytes`
  std::optional<std::chrono::seconds> age = {};  ///< entries that were not used for longer go
};

struct PruneResult {
  std::int64_t entries = 0;  ///< removed
  std::int64_t bytes = 0;
  bool is_done = false;  ///< false: another process held the cache lock; nothing was removed
  int error = 0;         ///< errno of the first file that could not be removed
};

/// Removes entries beyond `limits`, and temporary files older than an hour. Waits up to `wait` for
/// the lock of the whole cache.
PruneResult prune_cache(const std::string& entries_folder, const PruneLimits& limits,
                        std::chrono::milliseconds wait = kLongestCacheWait);

}  // namespace sinter
