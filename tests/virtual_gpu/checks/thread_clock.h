// ThreadClock and BlockClock: the place of the threads of a block in the happens-before relation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/virtual_gpu/checks/clock.h"

namespace sinter::virtual_gpu {

struct BlockClock;

/// The knowledge of a thread when it executed its last fence. A later strong write releases it.
struct FencePoint {
  std::shared_ptr<const Clock> base = {}, acquired = {};
  std::uint32_t known = 0, interval = 0, time = 0;
  std::shared_ptr<const Clock> clock = {};  ///< all of the above, made when it is first needed
};

/// The rare part of a thread's state: fences and strong reads.
struct ThreadSynchronization {
  FencePoint fence = {};
  bool has_fence = false;
  std::shared_ptr<const Clock> pending = {};    ///< of strong reads; the next fence acquires it
  std::shared_ptr<const Clock> last_read = {};  ///< already in `pending` or acquired
};

/// A thread knows its own accesses, the base clock of its block, and what it acquired itself since
/// the last barrier.
struct ThreadClock {
  BlockClock* block = nullptr;
  std::uint32_t segment = 0;        ///< of its next access
  std::uint32_t ordered_below = 0;  ///< segments below are ordered before the whole launch
  std::uint32_t time = 0;           ///< the number of its releases
  std::uint32_t thread = 0;
  std::uint32_t interval = 0;  ///< barriers of the block and arrivals at cluster barriers, added up
  std::uint32_t known = 0;     ///< accesses of its block in intervals below are ordered before it
  std::shared_ptr<const Clock> acquired = {};
  std::unique_ptr<ThreadSynchronization> synchronization = {};

  std::uint32_t warp() const { return thread / kLanes; }
  Mask lane_bit() const { return Mask{1} << (thread % kLanes); }
};

/// The common part of the clocks of the threads of a warp.
struct WarpClock {
  std::uint64_t changes = 0;  ///< of the block, when this was made; 0: not made
  bool is_uniform = false;    ///< all threads have this segment and time
  std::uint32_t segment = 0;
  std::uint32_t time = 0;
  std::uint32_t known = 0;          ///< the smallest of all threads
  const Clock* acquired = nullptr;  ///< null also if the threads have acquired different clocks
};

struct BlockClock {
  BlockId id;
  std::shared_ptr<const Clock> base = {};  ///< what all threads know; of other blocks
  std::vector<ThreadClock> threads = {};
  std::vector<std::uint32_t> segments = {};   ///< by interval; 0: not made
  std::uint64_t changes = 1;                  ///< counts the changes of the clocks of threads
  mutable std::vector<WarpClock> warps = {};  ///< see warp_clock()

  /// The common part of the clocks of some threads of a warp.
  WarpClock common_clock(std::uint32_t first_thread, Mask lanes) const;
  /// The same of all threads of the warp.
  const WarpClock& warp_clock(std::uint32_t warp) const {
    WarpClock& clock = warps[warp];
    if (clock.changes != changes) {
      clock = common_clock(warp * kLanes, kAllLanes);
      clock.changes = changes;
    }
    return clock;
  }
};

}  // namespace sinter::virtual_gpu
