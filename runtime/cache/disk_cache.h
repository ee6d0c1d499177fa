// The disk cache: what compilers made, kept between processes. Whatever happens to its files, the
// worst that follows is a miss.
#pragma once

#include <array>
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
  /// Never throws: a folder that cannot be used turns the cache off, and `why_off` says so.
  explicit DiskCache(const CacheOptions& options);
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  bool is_on() const { return why_off_.empty(); }
  const std::string& why_off() const { return why_off_; }
  bool can_store() const { return is_on() && options_.mode == CacheMode::read_write; }

  enum class Look {
    first,
    again,      ///< at what others may have made meanwhile: no second miss
    uncounted,  ///< at what is no kernel
  };
  /// The contents of an entry; nothing on a miss. A damaged entry is one, and is taken away.
  std::optional<std::vector<std::byte>> find(const CacheName& name, Look look = Look::first);
  /// Takes away an entry that was found and turned out to be of no use: a miss after all.
  /// `more` is told of the latest such entry alone.
  void reject(const CacheName& name, std::string_view why, std::string_view more = {});
  /// Something to read that is kept beside an entry: `sources.cu`.
  struct Companion {
    std::string_view extension;
    std::string_view text;
  };
  /// True once the entry is there. A failure is counted and remembered, and otherwise harmless.
  bool store(const CacheName& name, std::span<const std::byte> payload,
             const Companion& companion = {}, Durability durability = Durability::power);
  /// To be held from before the last look at entries until they are stored.
  CacheLock lock(std::span<const CacheName> names, std::chrono::milliseconds limit) const;
  /// Where an entry lies, with what follows the dot.
  std::string path_of(const CacheName& name, std::string_view extension) const;

  DiskCounters counters() const;

 private:
  /// Returns why the folder cannot be used; empty: it can.
  std::string make_folder() const;
  void miss(std::string_view why);
  /// Counts a miss, or something that went wrong, once more.
  void count(std::string_view what);
  void fail(std::string_view what, const std::string& path, int error);
  void sweep_after(std::int64_t bytes);

  const CacheOptions options_;
  std::string entries_;  ///< the folder of all entries of this format
  std::string why_off_;
  std::atomic<std::int64_t> hits_ = 0, misses_ = 0, stored_ = 0, evicted_ = 0;
  /// Bytes that were stored since the last sweep; negative: there was none yet.
  std::atomic<std::int64_t> unswept_ = -1;
  mutable std::mutex mutex_;  ///< of what follows
  std::vector<DiskCounters::Reason> reasons_;
  std::string last_failure_;
};

/// The one of a folder in this process; lives until it ends.
DiskCache& disk_cache(const CacheOptions& options);

}  // namespace sinter
