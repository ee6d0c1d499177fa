// Clocks as sorted lists of shared parts.
#include "tests/virtual_gpu/checks/clock.h"

#include <algorithm>
#include <tuple>

namespace sinter::virtual_gpu {

const Clock::Part* Clock::find(BlockId block) const {
  const std::uint64_t key = key_of(block);
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), key,
                       [](const Entry& entry, std::uint64_t wanted) { return entry.key < wanted; });
  return found != entries_.end() && found->key == key ? found->part.get() : nullptr;
}

Mask Clock::uncovered(BlockId block, std::uint32_t interval, const LaneGroup& group) const {
  const Part* part = find(block);
  if (!part) return group.lanes;
  const std::uint32_t slot = block.block % kBlocksPerPart;
  if (interval < part->intervals[slot]) return 0;
  Mask rest = group.lanes;
  auto thread = std::lower_bound(part->threads.begin(), part->threads.end(),
                                 CoveredThread{.slot = slot, .thread = group.warp * kLanes},
                                 [](const CoveredThread& a, const CoveredThread& b) {
                                   return std::tie(a.slot, a.thread) < std::tie(b.slot, b.thread);
                                 });
  for (; thread != part->threads.end() && thread->slot == slot &&
         thread->thread / kLanes == group.warp;
       ++thread) {
    if (group.time <= thread->time) rest &= ~(Mask{1} << (thread->thread % kLanes));
  }
  return rest;
}

std::uint32_t Clock::intervals_of(BlockId block) const {
  const Part* part = find(block);
  return part ? part->intervals[block.block % kBlocksPerPart] : 0;
}

std::vector<std::uint32_t> Clock::known_launches() const {
  std::vector<std::uint32_t> result;
  for (const Entry& entry : entries_) {
    const auto launch = static_cast<std::uint32_t>(entry.key >> 32);
    if (result.empty() || result.back() != launch) result.push_back(launch);
  }
  return result;
}

Clock::Part Clock::joined(const Part& one, const Part& other) {
  Part result;
  for (std::uint32_t i = 0; i < kBlocksPerPart; ++i)
    result.intervals[i] = std::max(one.intervals[i], other.intervals[i]);
  const auto key = [](const CoveredThread& thread) { return std::tie(thread.slot, thread.thread); };
  const auto add = [&](const CoveredThread& thread) {
    if (thread.interval >= result.intervals[thread.slot]) result.threads.push_back(thread);
  };
  auto a = one.threads.begin();
  auto b = other.threads.begin();
  while (a != one.threads.end() || b != other.threads.end()) {
    if (b == other.threads.end() || (a != one.threads.end() && key(*a) < key(*b))) {
      add(*a++);
    } else if (a == one.threads.end() || key(*b) < key(*a)) {
      add(*b++);
    } else {
      add(a->time < b->time ? *b : *a);
      ++a, ++b;
    }
  }
  return result;
}

void Clock::join_part(BlockId block, const Part& part) {
  const std::uint64_t key = key_of(block);
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), key,
                       [](const Entry& entry, std::uint64_t wanted) { return entry.key < wanted; });
  if (found == entries_.end() || found->key != key) {
    entries_.insert(found, Entry{.key = key, .part = std::make_shared<const Part>(part)});
    return;
  }
  Part both = joined(*found->part, part);
  if (both != *found->part) found->part = std::make_shared<const Part>(std::move(both));
}

void Clock::cover_intervals(BlockId block, std::uint32_t intervals) {
  if (intervals <= intervals_of(block)) return;
  Part part;
  part.intervals[block.block % kBlocksPerPart] = intervals;
  join_part(block, part);
}

void Clock::cover_threads(BlockId block, std::vector<ThreadPoint> threads) {
  std::sort(threads.begin(), threads.end(),
            [](const ThreadPoint& a, const ThreadPoint& b) { return a.thread < b.thread; });
  Part part;
  for (const ThreadPoint& thread : threads)
    part.threads.push_back({.slot = block.block % kBlocksPerPart,
                            .thread = thread.thread,
                            .interval = thread.interval,
                            .time = thread.time});
  join_part(block, part);
}

void Clock::cover_launch(std::uint32_t launch) {
  const auto place = std::lower_bound(launches_.begin(), launches_.end(), launch);
  if (place == launches_.end() || *place != launch) launches_.insert(place, launch);
}

void Clock::join(const Clock& other) {
  for (const std::uint32_t launch : other.launches_) cover_launch(launch);
  std::vector<Entry> result;
  result.reserve(std::max(entries_.size(), other.entries_.size()));
  auto a = entries_.begin();
  auto b = other.entries_.begin();
  while (a != entries_.end() && b != other.entries_.end()) {
    if (a->key != b->key) {
      result.push_back(a->key < b->key ? std::move(*a++) : *b++);
      continue;
    }
    if (a->part != b->part) {
      Part both = joined(*a->part, *b->part);
      // Equal parts stay shared, so that later joins skip them.
      if (both == *b->part) {
        a->part = b->part;
      } else if (both != *a->part) {
        a->part = std::make_shared<const Part>(std::move(both));
      }
    }
    result.push_back(std::move(*a++));
    ++b;
  }
  result.insert(result.end(), std::make_move_iterator(a), std::make_move_iterator(entries_.end()));
  result.insert(result.end(), b, other.entries_.end());
  entries_ = std::move(result);
}

void Clock::forget(const std::function<bool(std::uint32_t launch)>& is_known) {
  std::erase_if(entries_, [&](const Entry& entry) {
    return is_known(static_cast<std::uint32_t>(entry.key >> 32));
  });
  std::erase_if(launches_, is_known);
}

std::shared_ptr<const Clock> joined(const std::shared_ptr<const Clock>& one,
                                    const std::shared_ptr<const Clock>& other) {
  if (!one || one == other) return other;
  if (!other) return one;
  auto both = std::make_shared<Clock>(*one);
  both->join(*other);
  return both;
}

}  // namespace sinter::virtual_gpu
