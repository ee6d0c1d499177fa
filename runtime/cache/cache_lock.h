// So that of several processes one makes an entry and the others wait for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/cache/cache_entry.h"
#include "runtime/support/atomic_file.h"

namespace sinter {

/// Locks of single bytes of one file, at places that follow from the names: there are as many as
/// names and none is left behind. The system takes them back from a process that ends, however it
/// ends, and they hold between threads as well (open file description locks).
class CacheLock {
 public:
  static CacheLock none() { return CacheLock(); }
  CacheLock(CacheLock&&) = default;
  /// Also frees what a process that was forked meanwhile has come to hold.
  ~CacheLock();

  /// Waits for whoever holds one of them, up to `limit`; then goes on without the rest: at worst
  /// something is made twice.
  static CacheLock wait_for(const std::string& path, std::span<const CacheName> names,
                            std::chrono::milliseconds limit);
  /// One more lock, of the whole cache; not held if another has it.
  static CacheLock try_whole(const std::string& path);
  /// The same, after waiting for whoever has it; not held if that takes longer than `limit`.
  static CacheLock wait_for_whole(const std::string& path, std::chrono::milliseconds limit);

  bool is_held() const { return is_held_; }

 private:
  CacheLock() = default;
  explicit CacheLock(const std::string& path);
  enum class Taken { yes, others_have_it, cannot };
  Taken take(std::int64_t place) const;
  /// False if others have it at the deadline, or there are no locks.
  bool take_before(std::int64_t place, std::chrono::steady_clock::time_point deadline) const;

  File file_;  ///< the locks go with it
  bool is_held_ = false;
};

}  // namespace sinter
