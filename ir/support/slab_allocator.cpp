// The pool of slabs that all graphs share.
#include "ir/support/slab_allocator.h"

#include <mutex>
#include <new>
#include <vector>

namespace sinter {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMaxPooledSlabs = 0;  // so that AddressSanitizer sees that memory is freed
#else
constexpr std::size_t kMaxPooledSlabs = (std::size_t{1} << 20) / SlabPool::kBytes;
#endif

struct PooledSlabs {
  /// Reserves space for all slabs, so that returning a slab never allocates.
  PooledSlabs() { slabs.reserve(kMaxPooledSlabs); }

  std::mutex mutex;
  std::vector<void*> slabs;
};

/// Never destroyed: graphs in static variables may return slabs after main has ended.
PooledSlabs& pooled_slabs() {
  static auto* const pooled_slabs = new PooledSlabs;
  return *pooled_slabs;
}

void free_slab(const void* slab, std::size_t bytes, std::size_t alignment) {
  ::operator delete(const_cast<void*>(slab), bytes, std::align_val_t(alignment));
}

}  // namespace

void* SlabPool::Allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes == kBytes) {
    PooledSlabs& pool = pooled_slabs();
    const std::lock_guard lock(pool.mutex);
    if (!pool.slabs.empty()) {
      void* const slab = pool.slabs.back();
      pool.slabs.pop_back();
      return slab;
    }
  }
  return ::operator new(bytes, std::align_val_t(alignment));
}

void SlabPool::Deallocate(const void* slab, std::size_t bytes, std::size_t alignment) {
  if (bytes == kBytes) {
    PooledSlabs& pool = pooled_slabs();
    const std::lock_guard lock(pool.mutex);
    if (pool.slabs.size() < kMaxPooledSlabs) return pool.slabs.push_back(const_cast<void*>(slab));
  }
  free_slab(slab, bytes, alignment);
}

void SlabPool::release() {
  PooledSlabs& pool = pooled_slabs();
  const std::lock_guard lock(pool.mutex);
  for (void* slab : pool.slabs) free_slab(slab, kBytes, alignof(std::max_align_t));
  pool.slabs.clear();
}

}  // namespace sinter
