#include "runtime/driver/deferred_release.h"

#include <atomic>
#include <utility>

#include "runtime/driver/context_guard.h"

namespace sinter {

namespace {

/// A lock-free list: defer_release may run in a driver callback, where taking a lock could
/// deadlock.
std::atomic<DeferredRelease*>& list() {
  static std::atomic<DeferredRelease*> first = nullptr;
  return first;
}

thread_local bool is_this_thread_releasing = false;

}  // namespace

void defer_release(DeferredRelease* one) noexcept {
  DeferredRelease* first = list().load(std::memory_order_relaxed);
  do {
    one->next_ = first;
  } while (!list().compare_exchange_weak(first, one, std::memory_order_release));
}

void run_deferred_releases() noexcept {
  if (!list().load(std::memory_order_relaxed)) [[likely]]
    return;
  DeferredReleases().release(/*idle=*/nullptr);
}

bool is_releasing() noexcept { return is_this_thread_releasing; }

DeferredReleases::DeferredReleases() noexcept
    : first_(list().exchange(nullptr, std::memory_order_acquire)) {}

DeferredReleases::~DeferredReleases() {
  while (first_) defer_release(std::exchange(first_, first_->next_));
}

void DeferredReleases::release(const DeviceState* idle) noexcept {
  const bool was_releasing = std::exchange(is_this_thread_releasing, true);
  while (first_) {
    DeferredRelease* const one = std::exchange(first_, first_->next_);
    if (!one->is_releasable(idle)) {
      defer_release(one);
      continue;
    }
    const ContextGuard kept(one->driver_);  // destructors may call functions of other libraries
    delete one;
  }
  is_this_thread_releasing = was_releasing;
}

}  // namespace sinter
