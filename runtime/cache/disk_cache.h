// The disk cache: compiled units, tunings and compiler identities, kept between processes. Damaged
// or missing files only cause misses.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/cache_entry.h"
#include "runtime/cache/cache_lock.h"
#include "runtime/support/atomic_file.h"
#include "sinter/options.h"
#include "sinter/report.h"

namespace sinter {

class DiskCache {
 public:
  /// Never throws: an unusable folder turns the cache off, and `off_reason` gives the reason.
  explicit DiskCache(const CacheOptions& options);
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  bool is_on() const { return off_reason_.empty(); }
  const std::string& off_reason() const { return off_reason_; }
  bool can_store() const { return is_on() && options_.mode == CacheMode::read_write; }

  enum class Lookup {
    counted,
    retry,      ///< after taking the lock: a missing entry is not counted as a miss again
    uncounted,  ///< for entries that are not kernels: neither hits nor missing entries count
  };
  /// The payload of an entry; nothing on a miss. A damaged entry is a miss, and is removed.
  std::optional<std::vector<std::byte>> find(const CacheName& name,
                                             Lookup lookup = Lookup::counted);
  /// Removes an entry that was found but turned out to be unusable, and counts it as a miss.
  /// `more` is only kept for the latest such entry, in DiskCounters::last_failure.
  void reject(const CacheName& name, std::string_view why, std::string_view more = {});
  /// A readable file that is stored next to an entry: the sources, as `.cu`.
  struct Companion {
    std::string_view extension;
    std::string_view text;
  };
  /// True if the entry was written. A failure is only counted and remembered.
  bool store(const CacheName& name, std::span<const std::byte> payload,
             const Companion& companion = {}, Durability durability = Durability::power,
             Existing existing = Existing::replace);
  /// Take it before the last lookup of the entries, and hold it until they are stored.
  CacheLock lock(std::span<const CacheName> names, std::chrono::milliseconds limit) const;
  /// The path of an entry's file with this extension.
  std::string path_of(const CacheName& name, std::string_view extension) const;

  DiskCounters counters() const;

 private:
  /// Creates the folders if needed. Returns why they cannot be used; empty: they can.
  std::string open_folders() const;
  void count_miss(std::string_view why);
  /// Adds one to the count of a reason.
  void count_reason(std::string_view what);
  void record_failure(std::string_view what, const std::string& path, int error);
  void sweep_after(std::int64_t bytes);

  const CacheOptions options_;
  std::string entries_;  ///< the folder of all entries of this format
  std::string off_reason_;
  std::atomic<std::int64_t> hits_ = 0, misses_ = 0, stored_ = 0, evicted_ = 0;
  /// Bytes that were stored since the last sweep; -1 before the first store, which sweeps.
  std::atomic<std::int64_t> unswept_ = -1;
  mutable std::mutex mutex_;  ///< guards the members below
  std::vector<DiskCounters::Reason> reasons_;
  std::string last_failure_;
};

/// The cache for these options in this process; lives until the process ends.
DiskCache& disk_cache(const CacheOptions& options);

}  // namespace sinter
