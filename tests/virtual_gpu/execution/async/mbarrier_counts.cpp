#include "tests/virtual_gpu/execution/async/mbarrier_counts.h"

#include <cstdlib>

#include <fmt/format.h>

namespace sinter::virtual_gpu {

namespace {

bool is_count(std::uint32_t count) { return count >= 1 && count <= MBarrierCounts::kLargest; }

}  // namespace

std::string MBarrierCounts::init(std::uint32_t count) {
  if (!is_count(count)) return fmt::format("the count {} is not from 1 to {}", count, kLargest);
  expected_ = pending_ = count;
  bytes_ = 0;
  phase_ = 0;
  return {};
}

std::string MBarrierCounts::arrive(std::uint32_t count, bool must_not_complete) {
  if (!is_count(count)) return fmt::format("the count {} is not from 1 to {}", count, kLargest);
  if (count > pending_)
    return fmt::format("{} arrivals at a phase that awaits {} more", count, pending_);
  if (must_not_complete && count == pending_ && bytes_ == 0)
    return "the arrival has .noComplete, but it completes the phase";
  pending_ -= count;
  return {};
}

std::string MBarrierCounts::drop(std::uint32_t count) {
  if (count > expected_)
    return fmt::format("{} arrivals are dropped, but phases expect {}", count, expected_);
  expected_ -= count;
  return {};
}

std::string MBarrierCounts::increment() {
  if (pending_ == kLargest) return fmt::format("more than {} pending arrivals", kLargest);
  ++pending_;
  return {};
}

std::string MBarrierCounts::change_bytes(std::int64_t change) {
  bytes_ += change;
  if (std::llabs(bytes_) <= std::int64_t{kLargest}) return {};
  return fmt::format("the tx-count becomes {}, its magnitude must be at most {}", bytes_, kLargest);
}

std::string MBarrierCounts::expect(std::uint32_t bytes) { return change_bytes(bytes); }
std::string MBarrierCounts::complete(std::uint32_t bytes) {
  return change_bytes(-static_cast<std::int64_t>(bytes));
}

bool MBarrierCounts::advance() {
  if (pending_ != 0 || bytes_ != 0) return false;
  ++phase_;
  pending_ = expected_;
  return true;
}

}  // namespace sinter::virtual_gpu
