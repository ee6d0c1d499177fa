// Builders of candidate lists of some kernel kinds, and helpers that all builders share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tiling/transpose_tiles.h"

namespace sinter {

/// Maximum schedules that tuning tries per kernel.
inline constexpr std::size_t kMaxCandidates = 12;

/// Minimum threads of a block in a cluster: with fewer, barriers cost more than the work.
inline constexpr int kMinClusterThreads = 256;
/// Bytes per second at which one block combines states in memory.
inline constexpr double kCombineBandwidth = 80e9;

/// Collects schedules in order, each once, up to `limit`.
class CandidateList {
 public:
  explicit CandidateList(std::size_t limit = kMaxCandidates) : limit_(limit) {
    list_.reserve(limit);
  }

  void add(const Schedule& schedule);
  const std::vector<Schedule>& schedules() const { return list_; }
  std::vector<Schedule> take() { return std::move(list_); }

 private:
  std::size_t limit_;
  std::vector<Schedule> list_;
};

/// Distributes a row over at most `threads` threads in each block of a cluster. Expects the vector
/// and the cluster in `schedule`, and returns it with its groups and threads per row. Returns
/// nullopt if a vector would straddle accumulators or parts of `tree`.
std::optional<Schedule> distribute_row(const Body& body, const Facts& facts, const Tree& tree,
                                       int threads, Schedule schedule);
/// Vectors of a row that each thread has.
std::int64_t vectors_per_thread(const Tree& tree, const Schedule& schedule);

/// Bytes of the largest elements that loads and stores move along an axis. Loads of `tiled` do not
/// count.
int largest_element_along(const Body& body, int axis, const TiledAccesses& tiled = {});
/// The number of loads that read as many elements as the iteration space has positions.
int full_loads(const Body& body);
/// Bytes that all loads and stores of `body` move, each element once per load or store.
double moved_bytes(const Body& body, const Facts& facts);

/// Instructions of all ops and reductions, per position.
int instructions_per_position(const Body& body);
/// True if accumulating an element takes registers that loads in flight would need.
bool has_heavy_state(const Body& body);
/// Bytes of the largest reduction state, at least the 8 bytes that a sum of any dtype may need.
std::int64_t widest_state(const Body& body);

// --- kernel kinds -------------------------------------------------------------------------------

/// Pointwise kernels. The default has enough loads in flight, spreads small tensors over all SMs,
/// and avoids a small last wave.
std::vector<Schedule> pointwise_candidates(const Body& body, const Target& target,
                                           const Facts& facts);
/// Adds candidates with tiles (transpose_tiles.h) to `direct`, the pointwise candidates without
/// tiles, if tiles request fewer sectors. They come first if they save enough sectors to pay for
/// the way through shared memory.
std::vector<Schedule> with_tiles(std::vector<Schedule> direct, const Body& body,
                                 const Target& target, const Facts& facts);
/// Row kernels: how rows are distributed over threads, blocks and clusters. The heuristic's choice
/// comes first. `split`: the parts of a row are distributed over blocks, and the last block
/// finishes.
std::vector<Schedule> row_candidates(const Body& body, const Target& target, const Facts& facts,
                                     bool split);

}  // namespace sinter
