// The happens-before relation between the accesses of all threads, launches and copies: vector
// clocks, compressed along the structure of a grid.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/virtual_gpu/checks/access_history.h"
#include "tests/virtual_gpu/checks/shadow.h"
#include "tests/virtual_gpu/checks/thread_clock.h"
#include "tests/virtual_gpu/checks/violation.h"

namespace sinter::virtual_gpu {

struct LaunchRecord;

/// A launch, a block of it, and an interval between two barriers of this block.
struct Segment {
  BlockId block;
  std::uint32_t interval = 0;
};

/// PTX ISA manual, chapter "Memory Consistency Model". The order has these sources:
/// - program order of a thread;
/// - `bar.sync`: all threads of a block, which all take part;
/// - a fence and then a strong write or atomic, read by a strong read or atomic and then a fence.
///   The manual calls these patterns release and acquire. An atomic read-modify-write
///   continues the release sequence of the value that it read;
/// - strong accesses with `.release` and `.acquire`;
/// - `barrier.cluster.arrive.release` and `.wait.acquire`; relaxed arrivals order nothing;
/// - the order of launches and copies in streams and graphs, as the driver reports it;
/// - `griddepcontrol.wait`, for a launch that may begin before its predecessor has ended.
/// The Shadow adds the observation order of the accesses to one location.
class HappensBefore {
 public:
  HappensBefore();
  ~HappensBefore();
  HappensBefore(const HappensBefore&) = delete;
  HappensBefore& operator=(const HappensBefore&) = delete;

  // ---- Launches and copies ----

  /// Begins a launch, copy or fill; a copy has one block of one thread. `is_ordered(earlier)` is
  /// true if the driver orders the whole of the earlier one before this one; the relation is
  /// transitive. `waits_for` are earlier launches that are ordered only behind
  /// `griddepcontrol.wait`. If the launch waits, all that is ordered behind it is also ordered
  /// behind them. Returns its serial number, from 1 on.
  std::uint32_t begin_launch(std::function<bool(std::uint32_t earlier)> is_ordered,
                             std::vector<std::uint32_t> waits_for, std::string name);
  /// The name of a launch, for messages.
  const std::string& name_of(std::uint32_t launch) const;
  /// All launches up to this one have ended and are ordered before all that begin later. Their
  /// records cost nothing from then on.
  void retire(std::uint32_t launch);

  /// The block must not outlive this object.
  std::unique_ptr<BlockClock> begin_block(std::uint32_t launch, std::uint32_t block, int threads);
  /// The clock of a thread; valid as long as the block.
  ThreadClock& thread(BlockClock& block, int thread) const { return block.threads[thread]; }

  // ---- Synchronisation ----

  /// All threads of the block that have not exited meet.
  void block_barrier(BlockClock& block);
  /// Some threads of a block meet: `bar.warp.sync`, or a barrier with a number of threads.
  void barrier_of(BlockClock& block, std::span<const std::uint32_t> threads);
  /// `membar`, `fence`. The scope is at least that of the threads which later synchronise.
  void fence(ThreadClock& thread);
  /// A strong write or atomic at an address, which is unique among all memory, shared memory
  /// included. `is_atomic`: it also read the value. `is_release`, `is_acquire`: `.release`,
  /// `.acquire`, or both for `.acq_rel`.
  void strong_write(ThreadClock& thread, std::uint64_t address, bool is_atomic,
                    bool is_release = false, bool is_acquire = false);
  void strong_read(ThreadClock& thread, std::uint64_t address, bool is_acquire = false);
  /// A barrier of the blocks of a cluster, which share `phase`: a number that is unique per
  /// cluster and per completed barrier. All arrivals precede the first wait.
  void cluster_arrive(ThreadClock& thread, std::uint64_t phase, bool is_release);
  void cluster_wait(ThreadClock& thread, std::uint64_t phase, bool is_acquire);
  /// `griddepcontrol.wait`, when the launches of `waits_for` have ended. If one of them has waited
  /// too, the launches for which it waited are also ordered.
  void wait_for_prior_launches(ThreadClock& thread);

  // ---- Questions ----

  /// True if the past access is ordered before the next access of the thread.
  bool is_before(const AccessStamp& past, const ThreadClock& thread) const;
  /// The lanes whose past accesses are not ordered before the next access of the thread.
  Mask unordered(const LaneGroup& past, const ThreadClock& thread) const {
    if (past.segment < thread.ordered_below) return 0;
    if (past.segment == thread.segment && past.warp == thread.warp() &&
        past.lanes == thread.lane_bit())
      return 0;
    return unordered_lanes(past, thread);
  }
  /// True if all accesses of the segment are ordered before the next accesses of the threads that
  /// share the clock. False if only clocks of single threads can tell.
  bool is_segment_before(std::uint32_t segment, const BlockClock& block,
                         const WarpClock& warp) const;
  /// True if the whole launch of the segment is ordered before the other launch. It has ended, so
  /// it makes no more accesses.
  bool is_of_launch_before(std::uint32_t segment, std::uint32_t launch) const {
    return is_retired(segment) || is_launch_before(launch_of(segment), launch);
  }
  ThreadPosition position_of(const AccessStamp& past) const;
  /// The stamp of an access that the thread makes now.
  AccessStamp stamp(const ThreadClock& thread, std::int32_t line) const;
  std::uint32_t launch_of(std::uint32_t segment) const { return segment_of(segment).block.launch; }
  /// Of a segment that is not retired; else launch 0.
  const Segment& segment_of(std::uint32_t segment) const {
    static constexpr Segment kRetired = {};
    return segment < first_segment_ ? kRetired : segments_[segment - first_segment_];
  }
  bool is_retired(std::uint32_t segment) const { return segment < first_segment_; }
  AccessHistories& histories() { return histories_; }
  const AccessHistories& histories() const { return histories_; }

 private:
  struct State;
  Mask unordered_lanes(const LaneGroup& past, const ThreadClock& thread) const;
  bool is_launch_before(std::uint32_t earlier, std::uint32_t later) const;
  bool is_before_end(std::uint32_t earlier, std::uint32_t launch) const;
  bool is_before_waiting(std::uint32_t earlier, const LaunchRecord& later) const;
  bool is_launch_covered(std::uint32_t launch, const Clock* clock) const;
  std::uint32_t ordered_prefix(std::uint32_t launch) const;
  std::uint32_t make_segment(BlockClock& block, std::uint32_t interval);
  void acquire(ThreadClock& thread, const std::shared_ptr<const Clock>& clock);

  std::vector<Segment> segments_;
  std::uint32_t first_segment_ = 1;
  AccessHistories histories_;
  std::unique_ptr<State> state_;
};

}  // namespace sinter::virtual_gpu
