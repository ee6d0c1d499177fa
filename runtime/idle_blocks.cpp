#include "runtime/idle_blocks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/steps.h"

namespace sinter {

std::int64_t block_bytes(std::int64_t bytes) {
  constexpr std::int64_t kLeastStep = 512;     // what drivers align memory to
  constexpr std::int64_t kMostStep = 2 << 20;  // what they give large memory in
  constexpr std::int64_t kLargest = std::int64_t{1} << 60;
  if (bytes > kLargest) return bytes;  // no driver has so much, and a multiple could overflow
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  return round_up(bytes, std::clamp(power / 8, kLeastStep, kMostStep));
}

IdleBlocks::Node IdleBlocks::make_node() {
  Map one;
  return one.extract(one.emplace(0, MemoryBlock{}));
}

void IdleBlocks::add(Node block) noexcept {
  block.key() = block.mapped().bytes;
  block.mapped().age = next_age_++;
  bytes_ += block.mapped().bytes;
  blocks_.insert(std::move(block));
}

void IdleBlocks::put_back(Node block) noexcept {
  bytes_ += block.key();
  const auto first = blocks_.lower_bound(block.key());
  blocks_.insert(first, std::move(block));
}

IdleBlocks::Node IdleBlocks::take_oldest() noexcept {
  const auto oldest = std::ranges::min_element(
      blocks_, {}, [](const Map::value_type& block) { return block.second.age; });
  return oldest == blocks_.end() ? Node() : extract(oldest);
}

IdleBlocks::Node IdleBlocks::extract(Map::iterator at) noexcept {
  bytes_ -= at->second.bytes;
  return blocks_.extract(at);
}

}  // namespace sinter
