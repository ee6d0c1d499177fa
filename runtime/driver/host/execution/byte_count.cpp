#include "runtime/driver/host/execution/byte_count.h"

#include <algorithm>
#include <bit>

namespace sinter::host {
namespace {

bool holds(const Allocation& allocation, const Access& access) {
  return access.address >= allocation.start && access.address < allocation.end() &&
         access.bytes <= allocation.end() - access.address;
}

}  // namespace

SiteMap::SiteMap(const Allocation& allocation, int site, bool is_store)
    : allocation(allocation),
      site(site),
      is_store(is_store),
      parts_(std::make_unique<std::atomic<Part*>[]>(part_count())) {}

SiteMap::~SiteMap() {
  for (std::size_t i = 0; i < part_count(); ++i) delete parts_[i].load(std::memory_order_relaxed);
}

SiteMap::Part& SiteMap::part(std::size_t number) {
  std::atomic<Part*>& slot = parts_[number];
  Part* there = slot.load(std::memory_order_acquire);
  if (there) return *there;
  auto made = std::make_unique<Part>();
  if (!slot.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return *there;
  return *made.release();
}

void SiteMap::mark(std::uintptr_t address, unsigned bytes) {
  std::size_t byte = address - allocation.start;
  for (unsigned left = bytes; left;) {
    const unsigned bit = byte % 64;
    const unsigned here = std::min(left, 64 - bit);
    const std::uint64_t bits = (~std::uint64_t{0} >> (64 - here)) << bit;
    std::atomic<std::uint64_t>& word = part(byte / kPartBytes)[byte % kPartBytes / 64];
    // Most accesses of a broadcast operand find their bits set, and a load is cheaper than an RMW.
    if ((word.load(std::memory_order_relaxed) & bits) != bits)
      word.fetch_or(bits, std::memory_order_relaxed);
    byte += here;
    left -= here;
  }
}

std::uint64_t SiteMap::count() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < part_count(); ++i) {
    const Part* const there = parts_[i].load(std::memory_order_acquire);
    if (!there) continue;
    for (const std::atomic<std::uint64_t>& word : *there)
      bytes += static_cast<unsigned>(std::popcount(word.load(std::memory_order_relaxed)));
  }
  return bytes;
}

AccessCounter::AccessCounter(std::vector<Allocation> allocations)
    : allocations_(std::move(allocations)) {}

SiteMap* AccessCounter::find(const Access& access) {
  const auto after = std::upper_bound(
      allocations_.begin(), allocations_.end(), access.address,
      [](std::uintptr_t address, const Allocation& other) { return address < other.start; });
  if (after == allocations_.begin() || !holds(*std::prev(after), access)) return nullptr;
  const Allocation& allocation = *std::prev(after);
  const auto index = static_cast<std::size_t>(&allocation - allocations_.data());

  const std::lock_guard lock(mutex_);
  const auto [slot, is_new] = maps_.try_emplace({index, access.site, access.is_store});
  try {
    if (is_new) slot->second = std::make_unique<SiteMap>(allocation, access.site, access.is_store);
  } catch (...) {
    maps_.erase(slot);
    throw;
  }
  return slot->second.get();
}

std::uint64_t AccessCounter::count(bool stores) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [key, map] : maps_)
    if (key.is_store == stores) bytes += map->count();
  return bytes;
}

AccessFault count_access(AccessCounter& counter, SiteCache& cache, const Access& access) {
  SiteMap*& cached = cache.maps[static_cast<unsigned>(access.site) % SiteCache::kEntries];
  if (!cached || cached->site != access.site || cached->is_store != access.is_store ||
      !holds(cached->allocation, access)) {
    SiteMap* const map = counter.find(access);
    if (!map) return AccessFault::outside;
    cached = map;
  }
  const unsigned alignment = std::min(access.bytes & -access.bytes, 16u);
  if (access.address % alignment != 0 && !access.may_be_misaligned) return AccessFault::misaligned;
  cached->mark(access.address, access.bytes);
  return AccessFault::none;
}

}  // namespace sinter::host
