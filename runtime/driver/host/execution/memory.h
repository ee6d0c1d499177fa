// The memory of the host device. Every allocation has guards around it and a poison pattern in it.
// The table of allocations finds the allocation of an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter::host {

/// The pattern in unwritten memory: NaN as f16, bf16, f32 and f64, an invalid bool, and far out of
/// range as an index.
inline constexpr std::uint16_t kPoison = 0xfff5;

void poison(void* memory, std::size_t bytes);

/// Lent memory is memory of the caller that kernels may access.
enum class MemoryKind { device, pinned, lent };

struct Allocation {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;  // as requested
  MemoryKind kind{};
  int device = 0;           // of device memory
  bool is_freeing = false;  // a call that frees it waits for queued work

  std::uintptr_t end() const { return start + bytes; }
};

/// Maps memory. Returns its address, or 0 if there is no memory. `kind` is device or pinned.
std::uintptr_t allocate(std::size_t bytes, MemoryKind kind, int device = 0);
/// Marks the allocation of that kind that starts there as about to be freed, and returns its size.
/// Nothing if there is none, or if it is already marked.
std::optional<std::size_t> mark_freeing(std::uintptr_t start, MemoryKind kind);
/// Frees the device or pinned allocation that starts there. Later accesses to it fault. False if
/// something has written just outside of it.
bool free_memory(std::uintptr_t start);

/// Lends memory of the caller, which kernels may access from now on. Overlapping ranges count as
/// one allocation. False if an allocation of the device already contains the range; then it must
/// not be taken back. Throws UserError if such an allocation contains only a part of the range.
bool lend_memory(std::uintptr_t start, std::size_t bytes);
/// Undoes one lend_memory() that returned true. No work may use the range any more.
void take_back_memory(std::uintptr_t start, std::size_t bytes);

/// The allocation that contains `address`.
std::optional<Allocation> find_allocation(std::uintptr_t address);
/// The allocations that kernels may access, sorted by address.
std::vector<Allocation> accessible_allocations();
/// Text for messages: "8 bytes past the end of a 256-byte device allocation".
std::string describe_address(const void* address);

struct MemoryUse {
  std::uint64_t live_bytes = 0, peak_bytes = 0;  // of device memory
  std::uint64_t allocations = 0;                 // device and pinned
};
MemoryUse memory_use();
void reset_peak();

}  // namespace sinter::host
