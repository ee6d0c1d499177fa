// The memory of nodes: slabs that go from one graph to the next.
#pragma once

#include "ir/support/adt.h"

#include <cstddef>

namespace sinter {

/// Hands out slabs for arenas and keeps up to a megabyte of them when they come back: programs that
/// record graph after graph would else ask the system for fresh pages each time, which takes longer
/// than recording. Usable from any thread.
class Slabs {
 public:
  static constexpr std::size_t kBytes = 8192;

  void* Allocate(std::size_t bytes, std::size_t alignment);  // NOLINT: LLVM's names
  void Deallocate(const void* slab, std::size_t bytes, std::size_t alignment);  // NOLINT

  /// Returns those that are kept, for work that needs memory of other kinds.
  static void release();
};

using SlabArena = llvm::BumpPtrAllocatorImpl<Slabs, Slabs::kBytes>;

}  // namespace sinter
