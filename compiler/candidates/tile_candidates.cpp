#include "compiler/candidates/candidate_list.h"

#include <algorithm>
#include <array>

#include "compiler/body/access.h"
#include "compiler/tiling/coalescing.h"
#include "compiler/tiling/transpose_tiles.h"
#include "compiler/tiling/vector_width.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Maximum candidates with tiles; the others are for comparison.
constexpr std::size_t kMaxTiled = 7;
/// Tiles come first if they request at least this many times fewer sectors. A tile costs a barrier,
/// and the loads of a block do not overlap its stores. An assumption, not a measurement.
constexpr double kMinSectorRatio = 1.3;
/// Maximum positions of all tiles, relative to the iteration space: more leave too many threads
/// idle.
constexpr double kMaxWaste = 2;
constexpr std::array<int, 3> kEdges = {128, 64, 32};
/// Maximum shared memory of one tile, and of all tiles of a block. Registers hold as much while the
/// loads are in flight: 128 bytes in each of 256 threads.
constexpr std::int64_t kMaxTileBytes = 16 * 1024 + 512;
constexpr std::int64_t kMaxTileBytesOfBlock = 32 * 1024 + 1024;

class TileCandidates {
 public:
  TileCandidates(const Body& body, const Target& target, const Facts& facts)
      : body_(body),
        target_(target),
        last_(body.parallel_axes - 1),
        tiled_(tiled_accesses(body, facts)) {
    if (tiled_.empty()) return;
    last_extent_ = evaluate(body.space.extent(last_), facts.symbols);
    tiled_extent_ = evaluate(body.space.extent(tiled_.axis), facts.symbols);
    size_ = evaluate(body.parallel_size(), facts.symbols);
    // At most 16 bytes of the widest element, and useful for the direct accesses.
    const std::int64_t limit =
        std::min<std::int64_t>(16 / largest_element_along(body, last_, tiled_),
                               divisor_of(body.space.extent(last_), facts));
    vector_ = useful_vector(body, last_, static_cast<int>(limit), facts, tiled_);
  }

  std::vector<Schedule> make() {
    if (tiled_.empty() || size_ == 0) return {};
    const int edge = best_edge();
    if (edge == 0) return {};
    add(edge, vector_, default_threads(edge));
    for (const int other : {edge, edge / 2, edge * 2})
      for (const int threads : {256, 128, 512}) add(other, vector_, threads);
    add(edge, vector_ / 2, default_threads(edge));
    return list_.take();
  }

 private:
  std::int64_t tiles_of(int edge) const {
    return divide_up(last_extent_, edge) * divide_up(tiled_extent_, edge) *
           (size_ / (last_extent_ * tiled_extent_));
  }

  double waste(int edge) const {
    return static_cast<double>(tiles_of(edge)) * edge * edge / static_cast<double>(size_);
  }

  bool fits(int edge) const {
    if (waste(edge) > kMaxWaste) return false;
    std::int64_t all = 0;
    for (const TiledAccess& access : all_of(body_, tiled_)) {
      const std::int64_t bytes = tile_bytes(edge, access.dtype, vector_);
      if (bytes > kMaxTileBytes) return false;
      all += bytes;
    }
    return all <= std::min(kMaxTileBytesOfBlock, target_.shared_per_block_opt_in);
  }

  /// The largest edge with enough tiles for all SMs and little waste; 0 if no edge fits.
  int best_edge() const {
    constexpr double kSlightlyMore = 1.2;
    int best = 0;
    for (const int edge : kEdges) {
      if (!fits(edge)) continue;
      const bool is_better = best == 0 || tiles_of(best) < 2 * std::int64_t{target_.sm_count} ||
                             waste(best) > kSlightlyMore * waste(edge);
      if (is_better) best = edge;
    }
    return best;
  }

  /// At most 256, and at most one thread per 16 bytes of the tile with the widest elements.
  int default_threads(int edge) const {
    int widest = 1;
    for (const TiledAccess& access : all_of(body_, tiled_))
      widest = std::max(widest, size_of(access.dtype));
    return std::min(256, edge * edge * widest / 16);
  }

  void add(int edge, int vector, int threads) {
    if (vector < 1 || std::ranges::find(kEdges, edge) == kEdges.end() || !fits(edge)) return;
    // A small tile may have fewer vectors than there are threads.
    threads = std::min(threads, edge * edge / vector);
    list_.add({.threads = threads, .vector = vector, .tile = edge});
  }

  const Body& body_;
  const Target& target_;
  int last_;
  TiledAccesses tiled_;
  std::int64_t last_extent_ = 0;
  std::int64_t tiled_extent_ = 0;
  std::int64_t size_ = 0;
  int vector_ = 1;
  CandidateList list_{kMaxTiled};
};

}  // namespace

std::vector<Schedule> with_tiles(std::vector<Schedule> direct, const Body& body,
                                 const Target& target, const Facts& facts) {
  const std::vector<Schedule> tiled = TileCandidates(body, target, facts).make();
  if (tiled.empty()) return direct;
  const double with = sectors_of(body, tiled.front(), facts).requested;
  const double without = sectors_of(body, direct.front(), facts).requested;
  if (with >= without) return direct;
  std::vector<Schedule> first = tiled;
  std::vector<Schedule> second = std::move(direct);
  if (with * kMinSectorRatio > without) std::swap(first, second);
  first.resize(std::min(first.size(), kMaxCandidates - std::min<std::size_t>(second.size(), 3)));
  second.resize(std::min(second.size(), kMaxCandidates - first.size()));
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace sinter
