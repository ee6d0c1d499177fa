// The slab allocator of node arenas, which reuses the slabs of destroyed graphs.
#pragma once

#include "ir/support/adt.h"

#include <cstddef>

namespace sinter {

/// Allocates slabs for arenas, and pools up to 1 MiB of returned slabs. Without the pool, programs
/// that record many graphs would request new pages from the system for each one, which takes longer
/// than recording. Thread-safe.
class SlabPool {
 public:
  static constexpr std::size_t kBytes = 8192;

  void* Allocate(std::size_t bytes, std::size_t alignment);  // NOLINT: LLVM's names
  void Deallocate(const void* slab, std::size_t bytes, std::size_t alignment);  // NOLINT

  /// Frees the pooled slabs, for work that needs other memory.
  static void release();
};

using SlabArena = llvm::BumpPtrAllocatorImpl<SlabPool, SlabPool::kBytes>;

}  // namespace sinter
