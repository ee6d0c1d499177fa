#include "ir/support/slab_allocator.h"

#include <mutex>
#include <new>
#include <vector>

namespace sinter {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMostKept = 0;  // what is freed must be seen to be free
#else
constexpr std::size_t kMostKept = (std::size_t{1} << 20) / Slabs::kBytes;
#endif

struct Kept {
  /// With room for all: giving a slab back takes no memory.
  Kept() { slabs.reserve(kMostKept); }

  std::mutex mutex;
  std::vector<void*> slabs;
};

/// Never destroyed: graphs in static variables may give slabs back after main has ended.
Kept& kept() {
  static auto* const kept = new Kept;
  return *kept;
}

void give_back(const void* slab, std::size_t bytes, std::size_t alignment) {
  ::operator delete(const_cast<void*>(slab), bytes, std::align_val_t(alignment));
}

}  // namespace

void* Slabs::Allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes == kBytes) {
    Kept& pool = kept();
    const std::lock_guard lock(pool.mutex);
    if (!pool.slabs.empty()) {
      void* const slab = pool.slabs.back();
      pool.slabs.pop_back();
      return slab;
    }
  }
  return ::operator new(bytes, std::align_val_t(alignment));
}

void Slabs::Deallocate(const void* slab, std::size_t bytes, std::size_t alignment) {
  if (bytes == kBytes) {
    Kept& pool = kept();
    const std::lock_guard lock(pool.mutex);
    if (pool.slabs.size() < kMostKept) return pool.slabs.push_back(const_cast<void*>(slab));
  }
  give_back(slab, bytes, alignment);
}

void Slabs::release() {
  Kept& pool = kept();
  const std::lock_guard lock(pool.mutex);
  for (void* slab : pool.slabs) give_back(slab, kBytes, alignof(std::max_align_t));
  pool.slabs.clear();
}

}  // namespace sinter
