// The memory of the host device: every allocation has guards around it and a poison pattern
// in it, and the table of allocations says what an address is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter::host {

/// What fresh, freed and never written memory holds: NaN as f16, bf16, f32 and f64, no valid bool,
/// and far out of range as an index.
inline constexpr std::uint16_t kPoison = 0xfff5;

void poison(void* memory, std::size_t bytes);

/// Registered memory is the caller's own, pinned; lent memory is the caller's own that the device
/// uses as its own.
enum class MemoryKind { device, pinned, registered, lent };

struct Allocation {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;  // as asked for
  MemoryKind kind{};
  int device = 0;           // of device memory
  bool is_ready = true;     // false until a stream-ordered allocation's turn has come
  bool is_freeing = false;  // a stream-ordered free is queued

  std::uintptr_t end() const { return start + bytes; }
};

/// Maps memory that cannot be touched yet if `is_ready` is false; 0 if there is none. `kind` is
/// device or pinned.
std::uintptr_t allocate(std::size_t bytes, MemoryKind kind, bool is_ready, int device = 0);
/// Opens what allocate() mapped closed.
void make_ready(std::uintptr_t start);
/// Marks the allocation that starts there as about to be freed; false if there is none or it is
/// already marked.
bool mark_freeing(std::uintptr_t start);
/// What is wrong with the allocation, if something wrote just outside it.
enum class FreeResult { freed, unknown, overrun };
/// Closes the allocation that starts there: what touches it from now on faults.
FreeResult free_memory(std::uintptr_t start);

/// Notes that `bytes` of the caller's own memory at `start` count as pinned; false if some are
/// already.
bool register_memory(std::uintptr_t start, std::size_t bytes);
bool unregister_memory(std::uintptr_t start);

/// The caller lends its own memory, which kernels may touch from now on; ranges may overlap, and
/// count as one allocation where they do. False if it is ours anyway, and need not be
/// taken back. Throws UserError where it is ours in part.
bool lend_memory(std::uintptr_t start, std::size_t bytes);
/// Undoes one lend_memory() that answered true. No work may use the range any more.
void take_back_memory(std::uintptr_t start, std::size_t bytes);

/// The allocation that holds `address`.
std::optional<Allocation> find_allocation(std::uintptr_t address);
/// Whether [address, address + bytes) lies in one allocation that is ready.
bool is_accessible(std::uintptr_t address, std::size_t bytes);
/// Those that kernels may touch, by address.
std::vector<Allocation> accessible_allocations();
/// In words for messages: "8 bytes past the end of a 256-byte device allocation".
std::string describe_address(const void* address);

struct MemoryUse {
  std::uint64_t live_bytes = 0, peak_bytes = 0;  // of device memory
  std::uint64_t allocations = 0;                 // device and pinned
};
MemoryUse memory_use();
void reset_peak();
/// Frees everything that is still allocated.
void free_all_memory();

}  // namespace sinter::host
