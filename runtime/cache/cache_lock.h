// Locks between processes: one of them makes a cache entry and the others wait for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/cache/cache_entry.h"
#include "runtime/support/atomic_file.h"

namespace sinter {

/// Locks on single bytes of one file, at offsets that follow from the entry names. They are open
/// file description locks: they also exclude threads, and the system releases them when a process
/// ends for any reason. No lock files are left behind.
class CacheLock {
 public:
  static CacheLock none() { return CacheLock(); }
  CacheLock(CacheLock&&) = default;
  /// Also releases the locks of a child that was forked meanwhile, which shares the description.
  ~CacheLock();

  /// Takes the locks of `names`, and waits up to `limit` for other holders. After that it returns
  /// without the remaining locks: at worst an entry is made twice.
  static CacheLock wait_for(const std::string& path, std::span<const CacheName> names,
                            std::chrono::milliseconds limit);
  /// Takes the lock of the whole cache; not held if the wait takes longer than `limit`.
  static CacheLock lock_all(const std::string& path, std::chrono::milliseconds limit);

  bool is_held() const { return is_held_; }

 private:
  CacheLock() = default;
  explicit CacheLock(const std::string& path);
  /// False if others still hold it at the deadline, or the file system has no locks.
  bool take_before(std::int64_t offset, std::chrono::steady_clock::time_point deadline) const;

  File file_;  ///< closing it releases the locks
  bool is_held_ = false;
};

}  // namespace sinter
