#include "runtime/driver/host/execution/grid_barrier.h"

namespace sinter::host {
namespace {

/// Between two barriers all bits of the counter except the highest are 0.
bool is_between_barriers(const unsigned* arrivals) {
  return (__atomic_load_n(arrivals, __ATOMIC_RELAXED) & 0x7fffffffu) == 0;
}

}  // namespace

GridBarrier::Outcome GridBarrier::arrive_and_wait(const unsigned* arrivals) {
  // An access fault abandons this stack, which must not hold the lock then. So this touches the
  // counter before locking.
  is_between_barriers(arrivals);
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  if (++waiting_ == blocks_) {
    waiting_ = 0;
    ++round_;
    has_counter_mismatch_ = !is_between_barriers(arrivals);
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return round_ != round || has_failed_ || returned_; });
  if (round_ != round) return has_counter_mismatch_ ? Outcome::counter_mismatch : Outcome::complete;
  return has_failed_ ? Outcome::block_failed : Outcome::block_returned;
}

void GridBarrier::block_ended(std::uint64_t block, bool has_failed) {
  const std::lock_guard lock(mutex_);
  if (has_failed)
    has_failed_ = true;
  else if (!returned_)
    returned_ = block;
  changed_.notify_all();
}

std::uint64_t GridBarrier::returned_block() const {
  const std::lock_guard lock(mutex_);
  return returned_.value_or(0);
}

}  // namespace sinter::host
