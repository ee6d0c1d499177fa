#include "runtime/device/free_list.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/support/round_up.h"

namespace sinter {

std::int64_t rounded_block_size(std::int64_t bytes) {
  constexpr std::int64_t kMinStep = 512;      // the alignment of driver allocations
  constexpr std::int64_t kMaxStep = 2 << 20;  // the granularity of large driver allocations
  constexpr std::int64_t kLargest = std::int64_t{1} << 60;
  if (bytes > kLargest) return bytes;  // too large for any driver; rounding could overflow
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  return round_up(bytes, std::clamp(power / 8, kMinStep, kMaxStep));
}

FreeList::Node FreeList::make_node() {
  FreeList one;
  const auto block = one.blocks_.try_emplace({0, 0}).first;
  one.ages_.emplace(0, block);
  return one.extract(block);
}

void FreeList::add(Node block) noexcept {
  block.block_.mapped().age = next_order_;
  insert(std::move(block));
}

void FreeList::reinsert(Node block) noexcept { insert(std::move(block)); }

void FreeList::insert(Node block) noexcept {
  bytes_ += block.mapped().bytes;
  block.block_.key() = {block.mapped().bytes, next_order_++};
  block.age_.key() = block.block_.mapped().age;
  block.age_.mapped() = blocks_.insert(std::move(block.block_)).position;
  ages_.insert(std::move(block.age_));
}

FreeList::Node FreeList::take_oldest() noexcept {
  return ages_.empty() ? Node() : extract(ages_.begin()->second);
}

FreeList::Node FreeList::extract(BySize::iterator at) noexcept {
  bytes_ -= at->second.block.bytes;
  Node node;
  node.age_ = ages_.extract(at->second.age);
  node.block_ = blocks_.extract(at);
  return node;
}

}  // namespace sinter
