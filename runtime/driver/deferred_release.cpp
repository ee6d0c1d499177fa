#include "runtime/driver/deferred_release.h"

#include <atomic>
#include <utility>

#include "runtime/driver/context_guard.h"

namespace sinter {

namespace {

/// A list without locks: whoever adds may be called where those could be held.
std::atomic<ReleasedLater*>& list() {
  static std::atomic<ReleasedLater*> first = nullptr;
  return first;
}

thread_local bool is_this_thread_releasing = false;

}  // namespace

void release_later(ReleasedLater* one) noexcept {
  ReleasedLater* first = list().load(std::memory_order_relaxed);
  do {
    one->next_ = first;
  } while (!list().compare_exchange_weak(first, one, std::memory_order_release));
}

void release_what_may_go() noexcept {
  if (!list().load(std::memory_order_relaxed)) [[likely]]
    return;
  PutOff().release(/*idle=*/nullptr);
}

bool is_releasing() noexcept { return is_this_thread_releasing; }

PutOff::PutOff() noexcept : first_(list().exchange(nullptr, std::memory_order_acquire)) {}

PutOff::~PutOff() {
  while (first_) release_later(std::exchange(first_, first_->next_));
}

void PutOff::release(const DeviceState* idle) noexcept {
  const bool was_releasing = std::exchange(is_this_thread_releasing, true);
  while (first_) {
    ReleasedLater* const one = std::exchange(first_, first_->next_);
    if (!one->may_go(idle)) {
      release_later(one);
      continue;
    }
    const KeptContext kept(one->driver_);  // functions of others may be called
    delete one;
  }
  is_this_thread_releasing = was_releasing;
}

}  // namespace sinter
