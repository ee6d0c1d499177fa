// A ring of reserved addresses, and a map of all allocations.
#include "tests/virtual_gpu/memory/global_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

namespace sinter::virtual_gpu {
namespace {

constexpr std::uint64_t kMinimumRange = std::uint64_t{64} << 30;
/// Allocations begin at pages, so that the host's rights on pinned memory end with it.
constexpr std::uint64_t kHostPageBytes = 4096;

constexpr std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

void* pointer_to(std::uint64_t address) { return reinterpret_cast<void*>(address); }

void set_access(const Allocation& allocation, int rights) {
  const std::uint64_t bytes = rounded_up(allocation.size, kHostPageBytes);
  if (mprotect(pointer_to(allocation.address), bytes, rights) != 0) throw std::bad_alloc();
}

std::string hexadecimal_text(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

std::string allocation_text(const Allocation& allocation) {
  const std::string what =
      allocation.name.empty() ? "the allocation" : "the variable " + allocation.name;
  return what + " of " + std::to_string(allocation.size) + " bytes at " +
         hexadecimal_text(allocation.address);
}

std::string bytes_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

}  // namespace

GlobalMemory::GlobalMemory(std::uint64_t range_bytes) : range_bytes_(range_bytes) {
  for (;; range_bytes_ /= 2) {
    void* const range =
        mmap(nullptr, range_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) {
      reserved_ = next_ = reinterpret_cast<std::uint64_t>(range);
      return;
    }
    if (range_bytes_ / 2 < kMinimumRange) throw std::bad_alloc();
  }
}

GlobalMemory::~GlobalMemory() { munmap(pointer_to(reserved_), range_bytes_); }

// ---- Addresses ----

/// The first address from `from` on with `bytes` that no live allocation or its guard occupies.
std::uint64_t GlobalMemory::first_free(std::uint64_t from, std::uint64_t bytes) const {
  std::uint64_t address = rounded_up(from, kHostPageBytes) + kGuardBytes;
  auto after = allocations_.upper_bound(address);
  for (auto before = after; before != allocations_.begin();) {
    const Allocation& one = *(--before)->second;
    if (!one.is_freed)
      address = std::max(address, rounded_up(one.address + one.size + kGuardBytes, kHostPageBytes));
    // Earlier allocations end before this one.
    if (!one.is_freed || one.address + kGuardBytes <= address) break;
  }
  for (; after != allocations_.end(); ++after) {
    const Allocation& next = *after->second;
    if (address + bytes + kGuardBytes <= next.address) break;
    if (!next.is_freed)
      address = rounded_up(next.address + next.size + kGuardBytes, kHostPageBytes);
  }
  return address;
}

std::uint64_t GlobalMemory::take_addresses(std::uint64_t bytes) {
  const std::uint64_t end = reserved_ + range_bytes_;
  if (bytes > range_bytes_) throw std::bad_alloc();
  for (const std::uint64_t from : {next_, reserved_}) {
    const std::uint64_t address = first_free(from, bytes);
    if (address + bytes + kGuardBytes > end) continue;
    next_ = address + bytes;
    return address;
  }
  throw std::bad_alloc();
}

/// Adds a record; those of freed memory at the same addresses disappear.
Allocation& GlobalMemory::insert(std::unique_ptr<Allocation> allocation) {
  const std::uint64_t begin = allocation->address;
  const std::uint64_t end = begin + std::max<std::uint64_t>(1, allocation->size);
  auto old = allocations_.upper_bound(begin);
  if (old != allocations_.begin()) {
    const Allocation& before = *std::prev(old)->second;
    if (before.address == begin || before.address + before.size > begin) --old;
  }
  while (old != allocations_.end() && old->first < end) {
    if (!old->second->is_freed)
      throw std::invalid_argument("host memory overlaps " + allocation_text(*old->second));
    old = allocations_.erase(old);
  }
  last_ = nullptr;
  return *allocations_.emplace_hint(old, begin, std::move(allocation))->second;
}

// ---- Allocations ----

Allocation& GlobalMemory::allocate(std::uint64_t bytes, int device, MemoryKind kind,
                                   std::string name) {
  auto allocation = std::make_unique<Allocation>();
  allocation->address = take_addresses(std::max<std::uint64_t>(1, bytes));
  allocation->size = bytes;
  allocation->kind = kind;
  allocation->device = device;
  allocation->name = std::move(name);
  allocation->shadow = Shadow(bytes);
  if (kind == MemoryKind::pinned) {
    set_access(*allocation, PROT_READ | PROT_WRITE);
    allocation->data = static_cast<std::byte*>(pointer_to(allocation->address));
  } else {
    allocation->owned.reset(new std::byte[bytes]);  // without a value: large ones cost no time
    allocation->data = allocation->owned.get();
    used_[device] += bytes;
  }
  return insert(std::move(allocation));
}

Allocation& GlobalMemory::map_host(void* pointer, std::uint64_t bytes) {
  auto allocation = std::make_unique<Allocation>();
  allocation->address = reinterpret_cast<std::uint64_t>(pointer);
  allocation->size = bytes;
  allocation->kind = MemoryKind::pinned;
  allocation->data = static_cast<std::byte*>(pointer);
  allocation->shadow = Shadow(bytes);
  allocation->shadow.mark_initialized(0, bytes);
  return insert(std::move(allocation));
}

void GlobalMemory::free(Allocation& allocation) {
  if (allocation.is_freed)
    throw std::invalid_argument(allocation_text(allocation) + " is freed already");
  const bool is_ours =
      allocation.address >= reserved_ && allocation.address < reserved_ + range_bytes_;
  if (allocation.kind != MemoryKind::pinned) {
    used_[allocation.device] -= allocation.size;
  } else if (is_ours) {
    madvise(allocation.data, rounded_up(allocation.size, kHostPageBytes), MADV_DONTNEED);
    set_access(allocation, PROT_NONE);
  }
  allocation.owned.reset();
  allocation.data = nullptr;
  allocation.shadow = Shadow();
  allocation.is_freed = true;
}

std::size_t GlobalMemory::live(MemoryKind kind) const {
  return static_cast<std::size_t>(std::ranges::count_if(allocations_, [&](const auto& entry) {
    return entry.second->kind == kind && !entry.second->is_freed;
  }));
}

std::vector<const Allocation*> GlobalMemory::live() const {
  std::vector<const Allocation*> live;
  for (const auto& [address, allocation] : allocations_)
    if (!allocation->is_freed && allocation->kind != MemoryKind::module)
      live.push_back(allocation.get());
  return live;
}

std::uint64_t GlobalMemory::used_bytes(int device) const {
  const auto found = used_.find(device);
  return found == used_.end() ? 0 : found->second;
}

// ---- Questions ----

Allocation* GlobalMemory::find_begin(std::uint64_t address) {
  const auto found = allocations_.find(address);
  return found != allocations_.end() && !found->second->is_freed ? found->second.get() : nullptr;
}

Allocation* GlobalMemory::search(std::uint64_t address) {
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  Allocation* const before = std::prev(after)->second.get();
  if (address - before->address >= before->size) return nullptr;
  return last_ = before;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  const auto after = allocations_.upper_bound(address);
  const Allocation* const before =
      after == allocations_.begin() ? nullptr : std::prev(after)->second.get();
  const Allocation* const next = after == allocations_.end() ? nullptr : after->second.get();
  if (before && address - before->address < before->size)
    return (before->is_freed ? "in freed memory: " : "") + bytes_text(address - before->address) +
           " into " + allocation_text(*before);
  const std::uint64_t behind = before ? address - (before->address + before->size) : kGuardBytes;
  const std::uint64_t ahead = next ? next->address - address : kGuardBytes;
  if (std::min(behind, ahead) >= kGuardBytes) return "near no allocation";
  if (behind <= ahead) {
    const std::string place = (behind ? bytes_text(behind) : "directly") + " behind the end of ";
    return place + (before->is_freed ? "freed memory: " : "") + allocation_text(*before);
  }
  return bytes_text(ahead) + " before " + (next->is_freed ? "freed memory: " : "") +
         allocation_text(*next);
}

}  // namespace sinter::virtual_gpu
