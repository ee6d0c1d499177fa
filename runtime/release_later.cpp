#include "runtime/release_later.h"

#include <atomic>
#include <utility>

namespace sinter {

namespace {

/// A list without locks: whoever adds may be called where those could be held.
std::atomic<ReleasedLater*>& list() {
  static std::atomic<ReleasedLater*> first = nullptr;
  return first;
}

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
  ReleasedLater* first = list().exchange(nullptr, std::memory_order_acquire);
  while (first) {
    ReleasedLater* const one = std::exchange(first, first->next_);
    if (one->may_go())
      delete one;
    else
      release_later(one);
  }
}

}  // namespace sinter
