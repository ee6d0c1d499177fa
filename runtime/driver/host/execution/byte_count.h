// Counts the distinct bytes that a launch touches, per line of its source and per allocation.
#pragma once

#include "runtime/driver/host/execution/memory.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace sinter::host {

/// One load or store.
struct Access {
  std::uintptr_t address;
  unsigned bytes;
  int site;  // line of the source
  bool is_store;
  bool may_be_misaligned = false;  // by a kernel for CPUs, whose vectors need no alignment
};

enum class AccessFault { none, outside, misaligned };

/// One bit per byte of an allocation: whether one site has touched it.
class SiteMap {
 public:
  SiteMap(const Allocation& allocation, int site, bool is_store);
  ~SiteMap();
  SiteMap(const SiteMap&) = delete;
  SiteMap& operator=(const SiteMap&) = delete;

  /// Marks a range as touched. Threads may call this concurrently.
  void mark(std::uintptr_t address, unsigned bytes);
  /// The number of marked bytes. No thread may still be marking.
  std::uint64_t count() const;

  const Allocation& allocation;
  const int site;
  const bool is_store;

 private:
  // Many launches touch a small part of a large allocation, so parts are made at their first touch.
  static constexpr std::size_t kPartBytes = 32 << 10;  // of the allocation
  using Part = std::array<std::atomic<std::uint64_t>, kPartBytes / 64>;

  std::size_t part_count() const { return (allocation.bytes + kPartBytes - 1) / kPartBytes; }
  Part& part(std::size_t number);

  std::unique_ptr<std::atomic<Part*>[]> parts_;
};

/// The counts of one launch, shared by the OS threads that run it.
class AccessCounter {
 public:
  /// Accesses are legal within `allocations`, which are sorted by address.
  explicit AccessCounter(std::vector<Allocation> allocations);

  /// The map of the site and the allocation that holds the access; null if none does.
  SiteMap* find(const Access& access);
  std::uint64_t bytes_read() const { return count(false); }
  std::uint64_t bytes_written() const { return count(true); }

 private:
  std::uint64_t count(bool stores) const;

  struct Key {
    std::size_t allocation;
    int site;
    bool is_store;
    auto operator<=>(const Key&) const = default;
  };

  const std::vector<Allocation> allocations_;
  mutable std::mutex mutex_;
  std::map<Key, std::unique_ptr<SiteMap>> maps_;
};

/// The maps that one OS thread used last. Cleared between launches.
struct SiteCache {
  static constexpr unsigned kEntries = 64;
  SiteMap* maps[kEntries] = {};

  void clear() { *this = {}; }
};

/// Records one access. Checks alignment of up to 16 bytes, which hardware requires for vectors.
AccessFault count_access(AccessCounter& counter, SiteCache& cache, const Access& access);

}  // namespace sinter::host
