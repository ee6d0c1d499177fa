#include "runtime/driver/host/execution/grid_barrier.h"

namespace sinter::host {
namespace {

/// Between meetings all bits but the highest are 0.
bool is_between_meetings(const unsigned* arrivals) {
  return (__atomic_load_n(arrivals, __ATOMIC_RELAXED) & 0x7fffffffu) == 0;
}

}  // namespace

GridBarrier::Outcome GridBarrier::meet(const unsigned* arrivals) {
  // Whoever faults leaves for good, and must not hold the lock then: touched here, it is there.
  is_between_meetings(arrivals);
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  if (++waiting_ == blocks_) {
    waiting_ = 0;
    ++round_;
    is_miscounted_ = !is_between_meetings(arrivals);
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return round_ != round || has_failed_ || returned_; });
  if (round_ != round) return is_miscounted_ ? Outcome::miscounted : Outcome::met;
  return has_failed_ ? Outcome::given_up : Outcome::missed;
}

void GridBarrier::leave(std::uint64_t block, bool has_failed) {
  const std::lock_guard lock(mutex_);
  if (has_failed)
    has_failed_ = true;
  else if (!returned_)
    returned_ = block;
  changed_.notify_all();
}

std::uint64_t GridBarrier::missing() const {
  const std::lock_guard lock(mutex_);
  return returned_.value_or(0);
}

}  // namespace sinter::host
