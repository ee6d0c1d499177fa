#include "runtime/driver/host/execution/memory.h"

#include "ir/support/round_up.h"
#include "sinter/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::host {
namespace {

constexpr std::size_t kAlignment = 256;      // that of the CUDA driver
constexpr std::size_t kHugePages = 4 << 20;  // allocations of this size and more get huge pages
// Address space costs nothing. Wide guards also catch indices that are far out of range.
constexpr std::size_t kGuardBytes = 16 << 20;
constexpr std::size_t kMaxQuarantine = 1024;  // freed allocations that stay mapped, inaccessible
constexpr std::size_t kMaxQuarantineBytes = std::size_t{256} << 30;

// The parts of a mapping: guard, slack, allocation, tail up to a multiple of 256, guard. Slack and
// tail hold poison, which free_memory() checks.
struct Mapping {
  std::byte* pages;
  std::size_t page_bytes;  // guards included
};

struct TableEntry {
  Allocation allocation;
  Mapping mapping;
};

struct Table {
  std::mutex mutex;
  std::map<std::uintptr_t, TableEntry> entries;     // by start
  std::multimap<std::uintptr_t, std::size_t> lent;  // ranges of the caller by start, with bytes
  // A ring of fixed size, so that freeing allocates nothing.
  std::array<TableEntry, kMaxQuarantine> quarantine;
  std::size_t oldest = 0, quarantined = 0;
  std::size_t quarantine_bytes = 0;
  MemoryUse use;
};

Table& table() {
  static auto* const table = new Table;  // outlives every static object that frees memory
  return *table;
}

std::byte* first_byte(const Mapping& mapping) { return mapping.pages + kGuardBytes; }
std::size_t inner_bytes(const Mapping& mapping) { return mapping.page_bytes - 2 * kGuardBytes; }

bool is_poisoned(const std::byte* from, const std::byte* to) {
  for (; from < to; ++from) {
    const bool is_high = reinterpret_cast<std::uintptr_t>(from) & 1;
    if (*from != static_cast<std::byte>(is_high ? kPoison >> 8 : kPoison & 0xff)) return false;
  }
  return true;
}

bool is_intact(const TableEntry& entry) {
  const std::byte* const start = reinterpret_cast<const std::byte*>(entry.allocation.start);
  const std::byte* const inner = first_byte(entry.mapping);
  return is_poisoned(inner, start) &&
         is_poisoned(start + entry.allocation.bytes, inner + inner_bytes(entry.mapping));
}

/// The entry whose allocation contains `address`; null if there is none.
const TableEntry* find_entry(const Table& table, std::uintptr_t address) {
  auto after = table.entries.upper_bound(address);
  if (after == table.entries.begin()) return nullptr;
  const TableEntry& entry = std::prev(after)->second;
  return address < entry.allocation.end() ? &entry : nullptr;
}

/// Calls `visit` for each union of overlapping lent ranges, in the order of addresses.
void for_each_lent(const Table& table, auto visit) {
  Allocation whole;
  for (const auto& [start, bytes] : table.lent) {
    if (whole.bytes > 0 && start >= whole.end()) {
      visit(whole);
      whole.bytes = 0;
    }
    if (whole.bytes == 0) whole = {.start = start, .kind = MemoryKind::lent};
    whole.bytes = std::max(whole.end(), start + bytes) - whole.start;
  }
  if (whole.bytes > 0) visit(whole);
}

void release_oldest(Table& table) {
  const Mapping mapping = table.quarantine[table.oldest].mapping;
  table.oldest = (table.oldest + 1) % kMaxQuarantine;
  --table.quarantined;
  table.quarantine_bytes -= mapping.page_bytes;
  munmap(mapping.pages, mapping.page_bytes);
}

void quarantine(Table& table, const TableEntry& entry) {
  // Remapping drops the pages, but keeps the addresses reserved.
  mmap(entry.mapping.pages, entry.mapping.page_bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (table.quarantined == kMaxQuarantine) release_oldest(table);
  table.quarantine[(table.oldest + table.quarantined++) % kMaxQuarantine] = entry;
  table.quarantine_bytes += entry.mapping.page_bytes;
  while (table.quarantine_bytes > kMaxQuarantineBytes) release_oldest(table);
}

const char* kind_name(MemoryKind kind) { return kind == MemoryKind::device ? "device" : "pinned"; }

std::string describe_near(const Allocation& allocation, std::uintptr_t address) {
  const std::string what =
      fmt::format("a {}-byte {} allocation", allocation.bytes, kind_name(allocation.kind));
  if (address < allocation.start)
    return fmt::format("{} bytes before {}", allocation.start - address, what);
  if (address >= allocation.end())
    return fmt::format("{} bytes past the end of {}", address - allocation.end(), what);
  return fmt::format("byte {} of {}", address - allocation.start, what);
}

}  // namespace

void poison(void* memory, std::size_t bytes) {
  auto* const start = static_cast<std::uint16_t*>(memory);
  std::fill(start, start + bytes / 2, kPoison);
  if (bytes & 1) std::memset(static_cast<std::byte*>(memory) + bytes - 1, kPoison & 0xff, 1);
}

std::uintptr_t allocate(std::size_t bytes, MemoryKind kind, int device) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t padded = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  const std::size_t inner = round_up(padded, page);
  void* const pages = mmap(nullptr, inner + 2 * kGuardBytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return 0;
  const Mapping mapping{static_cast<std::byte*>(pages), inner + 2 * kGuardBytes};
  if (inner >= kHugePages) madvise(first_byte(mapping), inner, MADV_HUGEPAGE);
  mprotect(first_byte(mapping), inner, PROT_READ | PROT_WRITE);
  poison(first_byte(mapping), inner);

  const auto start = reinterpret_cast<std::uintptr_t>(first_byte(mapping) + inner - padded);
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  try {
    all.entries[start] = {{.start = start, .bytes = bytes, .kind = kind, .device = device},
                          mapping};
  } catch (...) {
    munmap(mapping.pages, mapping.page_bytes);
    throw;
  }
  ++all.use.allocations;
  if (kind == MemoryKind::device) {
    all.use.live_bytes += bytes;
    all.use.peak_bytes = std::max(all.use.peak_bytes, all.use.live_bytes);
  }
  return start;
}

std::optional<std::size_t> mark_freeing(std::uintptr_t start, MemoryKind kind) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(start);
  if (found == all.entries.end()) return std::nullopt;
  Allocation& allocation = found->second.allocation;
  if (allocation.kind != kind || std::exchange(allocation.is_freeing, true)) return std::nullopt;
  return allocation.bytes;
}

bool free_memory(std::uintptr_t start) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(start);
  const TableEntry entry = found->second;
  const bool is_sound = is_intact(entry);
  all.entries.erase(found);
  quarantine(all, entry);
  --all.use.allocations;
  if (entry.allocation.kind == MemoryKind::device) all.use.live_bytes -= entry.allocation.bytes;
  return is_sound;
}

bool lend_memory(std::uintptr_t start, std::size_t bytes) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const TableEntry* touched = find_entry(all, start);
  if (touched && bytes <= touched->allocation.end() - start) return false;
  const auto next = all.entries.upper_bound(start);
  if (!touched && next != all.entries.end() && next->first < start + bytes) touched = &next->second;
  if (touched)
    throw UserError(fmt::format(
        "{} bytes at {:#x} reach into a {}-byte {} allocation of the host device at {:#x}; lend "
        "memory that is entirely inside or outside of it",
        bytes, start, touched->allocation.bytes, kind_name(touched->allocation.kind),
        touched->allocation.start));
  all.lent.emplace(start, bytes);
  return true;
}

void take_back_memory(std::uintptr_t start, std::size_t bytes) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto [first, last] = all.lent.equal_range(start);
  all.lent.erase(std::find_if(first, last, [&](const auto& at) { return at.second == bytes; }));
}

std::optional<Allocation> find_allocation(std::uintptr_t address) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (const TableEntry* const entry = find_entry(all, address)) return entry->allocation;
  std::optional<Allocation> lent;
  for_each_lent(all, [&](const Allocation& one) {
    if (address >= one.start && address < one.end()) lent = one;
  });
  return lent;
}

std::vector<Allocation> accessible_allocations() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::vector<Allocation> result;
  for (const auto& [start, entry] : all.entries) result.push_back(entry.allocation);
  for_each_lent(all, [&](const Allocation& one) { result.push_back(one); });
  std::ranges::sort(result, {}, &Allocation::start);
  return result;
}

std::string describe_address(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < all.quarantined; ++i) {
    const Allocation& freed = all.quarantine[(all.oldest + i) % kMaxQuarantine].allocation;
    if (address >= freed.start && address < freed.end())
      return describe_near(freed, address) + " that was freed";
  }
  // Otherwise the live allocation whose mapping, guards included, contains the address.
  const TableEntry* nearest = nullptr;
  for (const auto& [start, entry] : all.entries) {
    const Mapping& mapping = entry.mapping;
    const auto pages = reinterpret_cast<std::uintptr_t>(mapping.pages);
    if (address >= pages && address < pages + mapping.page_bytes) nearest = &entry;
  }
  if (!nearest) return "in no allocation";
  return describe_near(nearest->allocation, address);
}

MemoryUse memory_use() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return all.use;
}

void reset_peak() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.use.peak_bytes = all.use.live_bytes;
}

}  // namespace sinter::host
