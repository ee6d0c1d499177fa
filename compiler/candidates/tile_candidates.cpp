#include "compiler/candidates/tile_candidates.h"

#include <algorithm>
#include <array>
#include <optional>

#include "compiler/body/access.h"
#include "compiler/tiling/coalescing.h"
#include "compiler/tiling/transpose_tiles.h"
#include "compiler/tiling/vector_width.h"

namespace sinter {

namespace {

constexpr std::size_t kMostTileCandidates = 12;
/// With tiles or without: the better ones, and those to compare with.
constexpr std::size_t kMostTiled = 7;
/// Sectors without tiles against sectors with them from which on tiles come first: a tile costs a
/// barrier, and the loads of a block do not overlap its stores. An assumption, to be measured.
constexpr double kWorthATile = 1.3;
/// Positions of all tiles against those of the space that are too many threads without work.
constexpr double kTooMuchWaste = 2;
constexpr std::array<int, 3> kEdges = {128, 64, 32};
/// Shared memory of one tile, and of all tiles of a block: registers hold as much while it is on
/// its way, 128 bytes in each of 256 threads.
constexpr std::int64_t kMostTileBytes = 16 * 1024 + 512;
constexpr std::int64_t kMostBytes = 32 * 1024 + 1024;

class TileCandidates {
 public:
  TileCandidates(const Body& body, const Target& target, const Facts& facts)
      : body_(body),
        target_(target),
        facts_(facts),
        last_(body.parallel_axes - 1),
        tiled_(tiled_accesses(body, facts)) {
    if (tiled_.empty()) return;
    across_ = evaluate(body.space.extent(last_), facts.symbols);
    down_ = evaluate(body.space.extent(tiled_.axis), facts.symbols);
    size_ = evaluate(body.parallel_size(), facts.symbols);
    find_vector();
  }

  std::vector<Schedule> make() {
    if (tiled_.empty() || size_ == 0) return {};
    const int edge = best_edge();
    if (edge == 0) return {};
    add(edge, vector_, default_threads(edge));
    for (const int other : {edge, edge / 2, edge * 2})
      for (const int threads : {256, 128, 512}) add(other, vector_, threads);
    add(edge, vector_ / 2, default_threads(edge));
    return std::move(list_);
  }

 private:
  /// As wide as 16 bytes of the widest element, and as the other loads and the stores allow.
  void find_vector() {
    int largest = 1;
    const auto add = [&](const Index& at, DType dtype) {
      if (depends_on(at, last_)) largest = std::max(largest, size_of(dtype));
    };
    for (std::size_t i = 0; i < body_.values.size(); ++i) {
      const Value& value = body_.values[i];
      if (value.kind == Value::Kind::load && !tiled_.has_load(static_cast<int>(i)))
        add(value.at, value.dtype);
    }
    for (const BodyStore& store : body_.stores) add(store.at, store.node->dtype);
    const std::int64_t limit =
        std::min<std::int64_t>(16 / largest, divisor_of(body_.space.extent(last_), facts_));
    vector_ = useful_vector(body_, last_, static_cast<int>(limit), facts_, tiled_);
  }

  std::int64_t tiles_of(int edge) const {
    return (across_ + edge - 1) / edge * ((down_ + edge - 1) / edge) * (size_ / (across_ * down_));
  }

  double waste(int edge) const {
    return static_cast<double>(tiles_of(edge)) * edge * edge / static_cast<double>(size_);
  }

  bool fits(int edge) const {
    if (waste(edge) > kTooMuchWaste) return false;
    std::int64_t all = 0;
    for (const TiledAccess& access : all_of(body_, tiled_)) {
      const std::int64_t bytes = tile_bytes(edge, access.dtype, vector_);
      if (bytes > kMostTileBytes) return false;
      all += bytes;
    }
    return all <= std::min(kMostBytes, target_.shared_per_block_opt_in);
  }

  /// The largest of which there are enough for all SMs; 0 if none is worth its place.
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

  /// No more than have 16 bytes each of the widest elements' tile.
  int default_threads(int edge) const {
    int widest = 1;
    for (const TiledAccess& access : all_of(body_, tiled_))
      widest = std::max(widest, size_of(access.dtype));
    return std::min(256, edge * edge * widest / 16);
  }

  void add(int edge, int vector, int threads) {
    if (list_.size() == kMostTiled || vector < 1) return;
    if (std::ranges::find(kEdges, edge) == kEdges.end() || !fits(edge)) return;
    // A small tile may have fewer vectors than there are threads.
    threads = std::min(threads, edge * edge / vector);
    const Schedule schedule{.threads = threads, .vector = vector, .tile = edge};
    if (std::ranges::find(list_, schedule) == list_.end()) list_.push_back(schedule);
  }

  const Body& body_;
  const Target& target_;
  const Facts& facts_;
  int last_;
  TiledAccesses tiled_;
  std::int64_t across_ = 0;
  std::int64_t down_ = 0;
  std::int64_t size_ = 0;
  int vector_ = 1;
  std::vector<Schedule> list_;
};

}  // namespace

std::vector<Schedule> with_tiles(std::vector<Schedule> direct, const Body& body,
                                 const Target& target, const Facts& facts) {
  const std::vector<Schedule> tiled = TileCandidates(body, target, facts).make();
  if (tiled.empty()) return direct;
  const double with = sectors_of(body, tiled.front(), facts).asked;
  const double without = sectors_of(body, direct.front(), facts).asked;
  if (with >= without) return direct;
  std::vector<Schedule> first = tiled;
  std::vector<Schedule> second = std::move(direct);
  if (with * kWorthATile > without) std::swap(first, second);
  first.resize(
      std::min(first.size(), kMostTileCandidates - std::min<std::size_t>(second.size(), 3)));
  second.resize(std::min(second.size(), kMostTileCandidates - first.size()));
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace sinter
