// Barriers, fences, strong accesses, and waits: the events that extend a thread's clock.
#include <algorithm>

#include "tests/virtual_gpu/checks/happens_before.h"
#include "tests/virtual_gpu/checks/happens_before_state.h"

namespace sinter::virtual_gpu {
namespace {

ThreadSynchronization& synchronization_of(ThreadClock& thread) {
  if (!thread.synchronization) thread.synchronization = std::make_unique<ThreadSynchronization>();
  return *thread.synchronization;
}

/// All that the thread knows now. Its later accesses need another time, so that the clock does not
/// cover them.
FencePoint release_point(ThreadClock& thread) {
  ++thread.block->changes;
  return {.base = thread.block->base,
          .acquired = thread.acquired,
          .known = thread.known,
          .interval = thread.interval,
          .time = thread.time++};
}

std::shared_ptr<const Clock> clock_of(const FencePoint& point, const ThreadClock& thread) {
  auto clock = point.base ? std::make_shared<Clock>(*point.base) : std::make_shared<Clock>();
  if (point.acquired) clock->join(*point.acquired);
  clock->cover_intervals(thread.block->id, point.known);
  clock->cover_threads(thread.block->id, {{thread.thread, point.interval, point.time}});
  return clock;
}

/// The clock that a strong write releases by the thread's last fence; null without a fence.
std::shared_ptr<const Clock> fenced_clock(ThreadClock& thread) {
  if (!thread.synchronization || !thread.synchronization->has_fence) return nullptr;
  FencePoint& fence = thread.synchronization->fence;
  if (!fence.clock) {
    fence.clock = clock_of(fence, thread);
    fence.base = fence.acquired = nullptr;
  }
  return fence.clock;
}

}  // namespace

void HappensBefore::acquire(ThreadClock& thread, const std::shared_ptr<const Clock>& clock) {
  if (!clock) return;
  ++thread.block->changes;
  thread.acquired = joined(thread.acquired, clock);
  thread.known = std::max(thread.known, thread.acquired->intervals_of(thread.block->id));
}

// ---- Barriers of a block ----

void HappensBefore::block_barrier(BlockClock& block) {
  std::uint32_t interval = 0;
  // Equal times let the checks treat a warp as one. Any time above those of the releases is right.
  std::uint32_t time = 0;
  std::shared_ptr<const Clock> last;  // all threads often acquire the same clock
  for (ThreadClock& thread : block.threads) {
    interval = std::max(interval, thread.interval + 1);
    time = std::max(time, thread.time);
    if (!thread.acquired) continue;
    if (thread.acquired != last) block.base = joined(block.base, thread.acquired);
    last = std::move(thread.acquired);
    thread.acquired = nullptr;
  }
  const std::uint32_t segment = make_segment(block, interval);
  ++block.changes;
  for (ThreadClock& thread : block.threads) {
    thread.segment = segment;
    thread.interval = thread.known = interval;
    thread.time = time;
  }
}

void HappensBefore::barrier_of(BlockClock& block, std::span<const std::uint32_t> threads) {
  auto clock = std::make_shared<Clock>();
  std::shared_ptr<const Clock> last;
  std::vector<ThreadPoint> points;
  for (const std::uint32_t i : threads) {
    ThreadClock& thread = block.threads[i];
    if (thread.acquired && thread.acquired != last) clock->join(*thread.acquired);
    last = thread.acquired;
    clock->cover_intervals(block.id, thread.known);
    points.push_back({.thread = i, .interval = thread.interval, .time = thread.time++});
  }
  clock->cover_threads(block.id, std::move(points));
  ++block.changes;
  for (const std::uint32_t i : threads) {
    ThreadClock& thread = block.threads[i];
    thread.acquired = clock;  // contains what each of them had acquired
    thread.known = std::max(thread.known, clock->intervals_of(block.id));
  }
}

// ---- Fences and strong accesses ----

void HappensBefore::fence(ThreadClock& thread) {
  ThreadSynchronization& synchronization = synchronization_of(thread);
  acquire(thread, synchronization.pending);
  synchronization.pending = nullptr;
  synchronization.fence = release_point(thread);
  synchronization.has_fence = true;
}

void HappensBefore::strong_read(ThreadClock& thread, std::uint64_t address, bool is_acquire) {
  const auto found = state_->released.find(address);
  if (found == state_->released.end()) return;
  const std::shared_ptr<const Clock>& clock = found->second.clock;
  if (is_acquire) return acquire(thread, clock);
  ThreadSynchronization& synchronization = synchronization_of(thread);
  if (synchronization.last_read == clock) return;
  synchronization.last_read = clock;
  synchronization.pending = joined(synchronization.pending, clock);
}

void HappensBefore::strong_write(ThreadClock& thread, std::uint64_t address, bool is_atomic,
                                 bool is_release, bool is_acquire) {
  if (is_atomic) strong_read(thread, address, is_acquire);
  const std::shared_ptr<const Clock> clock =
      is_release ? clock_of(release_point(thread), thread) : fenced_clock(thread);
  if (!clock) {
    // A plain write ends the release sequence, an atomic continues it.
    if (!is_atomic) state_->released.erase(address);
    return;
  }
  constexpr std::size_t kMaximumParts = 256;
  const std::uint32_t launch = thread.block->id.launch;
  Released& released = state_->released[address];
  if (!is_atomic || !released.clock) {
    released = {.clock = clock, .launch = launch};
    return;
  }
  if (released.launch != launch && released.clock->size() > kMaximumParts) {
    // Without this, counters that each launch uses would collect the clocks of all launches.
    // A launch beside this one may have needed the dropped knowledge: it then sees a race too much.
    auto rest = std::make_shared<Clock>(*released.clock);
    rest->forget([&](std::uint32_t earlier) { return is_launch_before(earlier, launch); });
    released = {.clock = std::move(rest), .launch = launch};
  }
  released.clock = joined(released.clock, clock);
}

// ---- Barriers of a cluster ----

namespace {

/// The union of the arrivals.
std::shared_ptr<const Clock> cluster_clock(const ClusterPhase& phase) {
  auto clock = phase.known ? std::make_shared<Clock>(*phase.known) : std::make_shared<Clock>();
  for (const auto& [block, arrivals] : phase.blocks) {
    const BlockId id = {phase.launch, block};
    std::uint32_t all = arrivals.known;  // all accesses of the intervals below precede the barrier
    if (!arrivals.has_relaxed) {
      std::uint32_t first = UINT32_MAX;
      for (const ThreadPoint& thread : arrivals.threads) first = std::min(first, thread.interval);
      all = std::max(all, first + 1);
    }
    clock->cover_intervals(id, all);
    clock->cover_threads(id, arrivals.threads);
  }
  return clock;
}

}  // namespace

void HappensBefore::cluster_arrive(ThreadClock& thread, std::uint64_t phase_number,
                                   bool is_release) {
  ClusterPhase& phase = state_->phases[phase_number];
  const BlockClock& block = *thread.block;
  phase.launch = block.id.launch;
  ++phase.arrived;
  Arrivals& arrivals = phase.blocks[block.id.block];
  if (!is_release) {
    arrivals.has_relaxed = true;
    return;
  }
  if (block.base && block.base != phase.last_base) phase.known = joined(phase.known, block.base);
  phase.last_base = block.base;
  phase.known = joined(phase.known, thread.acquired);
  arrivals.known = std::max(arrivals.known, thread.known);
  arrivals.threads.push_back(
      {.thread = thread.thread, .interval = thread.interval, .time = thread.time++});
  ++thread.block->changes;
  // Later accesses are in another interval, so that the barrier covers whole intervals.
  thread.segment = make_segment(*thread.block, ++thread.interval);
}

void HappensBefore::cluster_wait(ThreadClock& thread, std::uint64_t phase_number, bool is_acquire) {
  const auto found = state_->phases.find(phase_number);
  if (found == state_->phases.end()) return;
  ClusterPhase& phase = found->second;
  if (is_acquire) {
    if (!phase.result) phase.result = cluster_clock(phase);
    acquire(thread, phase.result);
  }
  if (++phase.waited == phase.arrived) state_->phases.erase(found);
}

// ---- Launches ----

void HappensBefore::wait_for_prior_launches(ThreadClock& thread) {
  LaunchRecord& launch = state_->launches[thread.block->id.launch];
  if (launch.waits_for.empty()) return;
  launch.has_waited = true;
  if (!launch.wait_clock) {
    auto clock = std::make_shared<Clock>();
    for (const std::uint32_t earlier : launch.waits_for) clock->cover_launch(earlier);
    launch.wait_clock = std::move(clock);
  }
  acquire(thread, launch.wait_clock);
}

}  // namespace sinter::virtual_gpu
