// Clock: the set of past accesses that are ordered before a point of a thread, compressed along the
// grid.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/virtual_gpu/isa/lane_state.h"

namespace sinter::virtual_gpu {

/// A block of a launch.
struct BlockId {
  std::uint32_t launch = 0;
  std::uint32_t block = 0;
};

/// Accesses of lanes of one warp in one barrier interval, at one time of each lane.
struct LaneGroup {
  std::uint32_t segment = 0;
  std::uint32_t warp = 0;
  Mask lanes = 0;
  std::uint32_t time = 0;
};

/// A thread's accesses up to a time, which is in the interval.
struct ThreadPoint {
  std::uint32_t thread = 0;  ///< in its block
  std::uint32_t interval = 0;
  std::uint32_t time = 0;
};

/// Covers, for each block, all accesses of the intervals below a bound, and accesses of single
/// threads up to a time. Copies share their parts, which never change.
class Clock {
 public:
  /// The lanes whose accesses the clock does not cover.
  Mask uncovered(BlockId block, std::uint32_t interval, const LaneGroup& lanes) const;
  /// All accesses of intervals below the result are covered.
  std::uint32_t intervals_of(BlockId block) const;
  /// Launches of which everything is covered, in ascending order.
  const std::vector<std::uint32_t>& launches() const { return launches_; }
  /// Launches of which something is covered. All that is ordered before such a launch is also
  /// ordered before the owner of the clock.
  std::vector<std::uint32_t> known_launches() const;

  void cover_intervals(BlockId block, std::uint32_t intervals);
  void cover_threads(BlockId block, std::vector<ThreadPoint> threads);
  void cover_launch(std::uint32_t launch);
  void join(const Clock& other);
  /// The number of parts: a measure of its size.
  std::size_t size() const { return entries_.size(); }
  /// Drops the knowledge of launches that satisfy the predicate.
  void forget(const std::function<bool(std::uint32_t launch)>& is_known);

 private:
  static constexpr std::uint32_t kBlocksPerPart = 32;
  struct CoveredThread {
    std::uint32_t slot = 0;  ///< of the block in the part
    std::uint32_t thread = 0;
    std::uint32_t interval = 0;
    std::uint32_t time = 0;
    bool operator==(const CoveredThread&) const = default;
  };
  /// Adjacent blocks of a launch.
  struct Part {
    std::array<std::uint32_t, kBlocksPerPart> intervals = {};
    std::vector<CoveredThread> threads = {};  ///< by slot and thread
    bool operator==(const Part&) const = default;
  };
  struct Entry {
    std::uint64_t key = 0;  ///< launch and number of the part
    std::shared_ptr<const Part> part;
  };

  static std::uint64_t key_of(BlockId block) {
    return (std::uint64_t{block.launch} << 32) | (block.block / kBlocksPerPart);
  }
  static Part joined(const Part& one, const Part& other);
  const Part* find(BlockId block) const;
  void join_part(BlockId block, const Part& part);

  std::vector<Entry> entries_;  ///< by key
  std::vector<std::uint32_t> launches_;
};

/// The union; shares the argument if the other is null or the same.
std::shared_ptr<const Clock> joined(const std::shared_ptr<const Clock>& one,
                                    const std::shared_ptr<const Clock>& other);

}  // namespace sinter::virtual_gpu
