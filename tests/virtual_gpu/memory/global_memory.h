// Global memory: allocations of all devices and pinned host memory in one address space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/virtual_gpu/checks/shadow.h"

namespace sinter::virtual_gpu {

enum class MemoryKind : std::uint8_t {
  device,  ///< of cuMemAlloc; the host cannot read it at its address
  pinned,  ///< of cuMemHostAlloc; the address is that of host memory
  module,  ///< `.global` and `.const` variables of a loaded module
};

struct Allocation {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  MemoryKind kind = MemoryKind::device;
  int device = 0;
  std::string name = {};      ///< of a variable; for messages
  std::byte* data = nullptr;  ///< the bytes; null if freed
  std::unique_ptr<std::byte[]> owned = {};
  Shadow shadow = Shadow();  ///< initialisation and last accesses; empty if freed
  bool is_freed = false;
};

/// Device addresses are in a reserved range that the host cannot access. A stray access by the host
/// ends the process, as it does with a GPU.
/// Freed allocations stay known, so that an access to one is reported as that; the range is used up
/// before an address serves again. Used by one thread at a time: the caller holds the lock of the
/// machine.
class GlobalMemory {
 public:
  /// Addresses between allocations that belong to none.
  static constexpr std::uint64_t kGuardBytes = 64 << 10;

  /// Reserves `range_bytes` of addresses, or half, a quarter, … if the system refuses, down to
  /// 64 GiB.
  explicit GlobalMemory(std::uint64_t range_bytes = std::uint64_t{1} << 40);
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  /// Uninitialised memory, aligned to 256 bytes, with unmapped addresses before and after it.
  /// Pinned memory is accessible to the host at its address until it is freed. Throws
  /// std::bad_alloc if the range is full.
  Allocation& allocate(std::uint64_t bytes, int device, MemoryKind kind, std::string name = {});
  /// Makes host memory accessible and initialised; the caller owns it. It must not overlap live
  /// allocations.
  Allocation& map_host(void* pointer, std::uint64_t bytes);
  /// The live allocation that begins at the address; null if there is none.
  Allocation* find_begin(std::uint64_t address);
  /// The allocation, perhaps freed, that contains the address; null if there is none. The newest
  /// one, if freed memory was allocated again. Valid until its addresses serve again.
  Allocation* find(std::uint64_t address) {
    if (last_ && address - last_->address < last_->size) return last_;
    return search(address);
  }
  /// Frees its bytes. The record stays.
  void free(Allocation& allocation);
  /// The live allocations without variables of modules, in the order of their addresses.
  std::vector<const Allocation*> live() const;
  /// Live bytes of a device, without pinned memory.
  std::uint64_t used_bytes(int device) const;
  /// The number of live allocations of the kind.
  std::size_t live(MemoryKind kind) const;
  /// Text for messages: `12 bytes behind the end of the allocation of 4096 bytes at
  /// 0x7e0000010000`, `12 bytes into …`, `in freed memory: …`, or `near no allocation`.
  std::string describe(std::uint64_t address) const;

 private:
  Allocation* search(std::uint64_t address);
  std::uint64_t take_addresses(std::uint64_t bytes);
  std::uint64_t first_free(std::uint64_t from, std::uint64_t bytes) const;
  Allocation& insert(std::unique_ptr<Allocation> allocation);

  std::map<std::uint64_t, std::unique_ptr<Allocation>> allocations_;  ///< by address
  std::map<int, std::uint64_t> used_;
  Allocation* last_ = nullptr;  ///< of the last find()
  std::uint64_t reserved_ = 0;  ///< the reserved range of addresses
  std::uint64_t range_bytes_ = 0;
  std::uint64_t next_ = 0;  ///< addresses are taken in ascending order
};

}  // namespace sinter::virtual_gpu
