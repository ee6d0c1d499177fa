// Launches, blocks, and the questions of the happens-before relation.
#include "tests/virtual_gpu/checks/happens_before.h"

#include <algorithm>
#include <utility>

#include "tests/virtual_gpu/checks/happens_before_state.h"

namespace sinter::virtual_gpu {

HappensBefore::HappensBefore() : state_(std::make_unique<State>()) {}
HappensBefore::~HappensBefore() = default;

// ---- Launches ----

std::uint32_t HappensBefore::begin_launch(std::function<bool(std::uint32_t earlier)> is_ordered,
                                          std::vector<std::uint32_t> waits_for, std::string name) {
  auto& launches = state_->launches;
  const auto number = static_cast<std::uint32_t>(launches.size());
  const std::uint32_t next = first_segment_ + static_cast<std::uint32_t>(segments_.size());
  launches.push_back({.name = std::move(name),
                      .is_ordered = std::move(is_ordered),
                      .waits_for = std::move(waits_for),
                      .first_segment = next});
  LaunchRecord& launch = launches.back();
  if (!launch.waits_for.empty()) state_->early.push_back(number);
  launch.prefix = ordered_prefix(number);
  // The segments that existed when launch `prefix + 1` began belong to launches up to `prefix`.
  launch.ordered_below = launches[launch.prefix + 1].first_segment;
  return number;
}

/// The last of the launches 1, 2, … that are all ordered before the launch. Asks only a few
/// times, as an ordered predecessor has its own prefix before it. A smaller result is correct too.
std::uint32_t HappensBefore::ordered_prefix(std::uint32_t launch) const {
  constexpr int kMaximumQuestions = 64;
  std::uint32_t known = state_->retired;
  std::uint32_t top = launch - 1;
  int questions = 0;
  for (std::uint32_t earlier = top; earlier > known; --earlier) {
    if (++questions > kMaximumQuestions) return known;
    if (is_launch_before(earlier, launch)) {
      known = std::max(known, state_->launches[earlier].prefix);
    } else {
      top = earlier - 1;
    }
  }
  return std::max(top, known);
}

bool HappensBefore::is_launch_before(std::uint32_t earlier, std::uint32_t later) const {
  if (earlier >= later) return false;
  LaunchRecord& launch = state_->launches[later];
  if (earlier <= launch.prefix) return true;
  const auto found = launch.order_of.find(earlier);
  if (found != launch.order_of.end()) return found->second;
  const bool answer =
      launch.is_ordered && (launch.is_ordered(earlier) || is_before_waiting(earlier, launch));
  launch.order_of.emplace(earlier, answer);
  return answer;
}

/// True if a launch that is ordered before the later one has waited itself for the earlier one, or
/// for a launch behind it.
bool HappensBefore::is_before_waiting(std::uint32_t earlier, const LaunchRecord& later) const {
  return std::any_of(state_->early.rbegin(), state_->early.rend(), [&](std::uint32_t between) {
    return between > earlier && state_->launches[between].has_waited && later.is_ordered(between) &&
           is_before_end(earlier, between);
  });
}

const std::string& HappensBefore::name_of(std::uint32_t launch) const {
  static const std::string kUnknown = "an earlier launch";
  return launch && launch < state_->launches.size() ? state_->launches[launch].name : kUnknown;
}

void HappensBefore::retire(std::uint32_t launch) {
  const std::uint32_t first = state_->cleared + 1;
  state_->retired = std::max(state_->retired, launch);
  if (state_->retired + 1 < state_->launches.size()) return;
  for (std::uint32_t i = first; i <= state_->retired; ++i) {
    state_->launches[i].is_ordered = {};
    state_->launches[i].order_of = {};
    state_->launches[i].wait_clock = {};
  }
  state_->cleared = state_->retired;
  state_->early.clear();
  // Nothing runs: no later question is about a segment, a set, or a released clock of today.
  first_segment_ += static_cast<std::uint32_t>(segments_.size());
  segments_.clear();
  histories_.clear();
  state_->released.clear();
  state_->phases.clear();
}

// ---- Blocks ----

std::unique_ptr<BlockClock> HappensBefore::begin_block(std::uint32_t launch, std::uint32_t block,
                                                       int threads) {
  auto result = std::make_unique<BlockClock>(BlockClock{.id = {launch, block}});
  result->threads.resize(threads);
  result->warps.resize((threads + kLanes - 1) / kLanes);
  const std::uint32_t segment = make_segment(*result, 0);
  for (int i = 0; i < threads; ++i) {
    ThreadClock& thread = result->threads[i];
    thread.block = result.get();
    thread.segment = segment;
    thread.ordered_below = state_->launches[launch].ordered_below;
    thread.thread = static_cast<std::uint32_t>(i);
  }
  return result;
}

std::uint32_t HappensBefore::make_segment(BlockClock& block, std::uint32_t interval) {
  if (block.segments.size() <= interval) block.segments.resize(interval + 1);
  std::uint32_t& segment = block.segments[interval];
  if (!segment) {
    segment = first_segment_ + static_cast<std::uint32_t>(segments_.size());
    segments_.push_back({.block = block.id, .interval = interval});
  }
  return segment;
}

WarpClock BlockClock::common_clock(std::uint32_t first_thread, Mask lanes) const {
  WarpClock result;
  const Clock* acquired = nullptr;
  bool is_first = true;
  for (; lanes && first_thread < threads.size(); lanes >>= 1, ++first_thread) {
    if (!(lanes & 1)) continue;
    const ThreadClock& thread = threads[first_thread];
    if (is_first) {
      result = {.is_uniform = true,
                .segment = thread.segment,
                .time = thread.time,
                .known = thread.known};
      acquired = thread.acquired.get();
      is_first = false;
      continue;
    }
    result.is_uniform &= thread.segment == result.segment && thread.time == result.time;
    result.known = std::min(result.known, thread.known);
    if (thread.acquired.get() != acquired) acquired = nullptr;
  }
  result.acquired = acquired;
  return result;
}

// ---- Questions ----

/// True if all of the earlier launch is ordered before the end of the other.
bool HappensBefore::is_before_end(std::uint32_t earlier, std::uint32_t launch) const {
  if (earlier == launch || is_launch_before(earlier, launch)) return true;
  const LaunchRecord& record = state_->launches[launch];
  return record.has_waited &&
         std::any_of(record.waits_for.begin(), record.waits_for.end(),
                     [&](std::uint32_t waited) { return is_before_end(earlier, waited); });
}

bool HappensBefore::is_launch_covered(std::uint32_t launch, const Clock* clock) const {
  if (!clock) return false;
  const auto is_waited_for = [&](std::uint32_t later) { return is_before_end(launch, later); };
  const auto is_earlier = [&](std::uint32_t later) { return is_launch_before(launch, later); };
  const std::vector<std::uint32_t> known = clock->known_launches();
  return std::any_of(clock->launches().begin(), clock->launches().end(), is_waited_for) ||
         std::any_of(known.begin(), known.end(), is_earlier);
}

Mask HappensBefore::unordered_lanes(const LaneGroup& past, const ThreadClock& thread) const {
  if (past.segment < first_segment_) return 0;
  const Segment& segment = segment_of(past.segment);
  const BlockId own = thread.block->id;
  Mask rest = past.lanes;
  if (segment.block.launch == own.launch && segment.block.block == own.block) {
    if (segment.interval < thread.known) return 0;
    if (past.warp == thread.warp()) rest &= ~thread.lane_bit();
    if (!rest || !thread.acquired) return rest;
    return thread.acquired->uncovered(own, segment.interval,
                                      {past.segment, past.warp, rest, past.time});
  }
  const Clock* const clocks[] = {thread.block->base.get(), thread.acquired.get()};
  if (segment.block.launch != own.launch) {
    if (is_launch_before(segment.block.launch, own.launch)) return 0;
    for (const Clock* clock : clocks)
      if (is_launch_covered(segment.block.launch, clock)) return 0;
  }
  for (const Clock* clock : clocks) {
    if (rest && clock)
      rest = clock->uncovered(segment.block, segment.interval,
                              {past.segment, past.warp, rest, past.time});
  }
  return rest;
}

bool HappensBefore::is_segment_before(std::uint32_t past, const BlockClock& block,
                                      const WarpClock& warp) const {
  if (is_retired(past)) return true;
  const Segment& segment = segment_of(past);
  if (segment.block.launch == block.id.launch && segment.block.block == block.id.block)
    return segment.interval < warp.known;
  const bool is_other_launch = segment.block.launch != block.id.launch;
  if (is_other_launch && is_launch_before(segment.block.launch, block.id.launch)) return true;
  for (const Clock* clock : {static_cast<const Clock*>(block.base.get()), warp.acquired}) {
    if (!clock) continue;
    if (segment.interval < clock->intervals_of(segment.block)) return true;
    if (is_other_launch && is_launch_covered(segment.block.launch, clock)) return true;
  }
  return false;
}

bool HappensBefore::is_before(const AccessStamp& past, const ThreadClock& thread) const {
  return unordered({.segment = past.segment,
                    .warp = past.thread / kLanes,
                    .lanes = Mask{1} << (past.thread % kLanes),
                    .time = past.time},
                   thread) == 0;
}

ThreadPosition HappensBefore::position_of(const AccessStamp& past) const {
  const BlockId block = segment_of(past.segment).block;
  return {.launch = block.launch, .block = block.block, .thread = past.thread};
}

AccessStamp HappensBefore::stamp(const ThreadClock& thread, std::int32_t line) const {
  return {.segment = thread.segment, .thread = thread.thread, .time = thread.time, .line = line};
}

}  // namespace sinter::virtual_gpu
