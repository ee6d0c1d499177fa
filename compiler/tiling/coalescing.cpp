#include "compiler/tiling/coalescing.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/target/gpu_constants.h"
#include "compiler/tiling/transpose_tiles.h"
#include "ir/shape/index_map.h"
#include "ir/support/adt.h"

namespace sinter {

namespace {

/// The position of each lane of a warp, per axis; lanes past the end are left out.
using Position = llvm::SmallVector<std::int64_t, 6>;
using Lanes = std::vector<Position>;

/// The bytes that one instruction of a warp requests.
class Request {
 public:
  void add(std::int64_t byte, std::int64_t bytes) {
    bytes_.push_back(byte);
    each_ = bytes;
    for (std::int64_t at = byte / kSectorBytes; at * kSectorBytes < byte + bytes; ++at)
      sectors_.push_back(at);
  }
  void count(Sectors& sectors, double times) {
    sectors.requested += times * static_cast<double>(distinct(sectors_));
    const std::int64_t all = distinct(bytes_) * each_;
    sectors.minimum += times * static_cast<double>((all + kSectorBytes - 1) / kSectorBytes);
  }

 private:
  using Numbers = llvm::SmallVector<std::int64_t, 64>;

  static std::int64_t distinct(Numbers& numbers) {
    std::ranges::sort(numbers);
    return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
  }

  Numbers bytes_;
  Numbers sectors_;
  std::int64_t each_ = 0;
};

class Counter {
 public:
  Counter(const Body& body, const Schedule& schedule, const Facts& facts, std::int64_t samples)
      : body_(body),
        schedule_(schedule),
        facts_(facts),
        samples_(samples),
        last_(body.parallel_axes - 1) {
    for (int axis = 0; axis < body.parallel_axes; ++axis)
      extents_.push_back(evaluate(body.space.extent(axis), facts.symbols));
  }

  Sectors count() {
    std::int64_t size = 1;
    for (const std::int64_t extent : extents_) size *= extent;
    if (last_ < 0 || size == 0) return {};
    if (schedule_.tile > 0)
      count_tiles();
    else
      count_lines(size);
    return sectors_;
  }

 private:
  /// Calls `visit(number, times)` for samples of `all`. Each sample represents `times` of them.
  template <class Visit>
  void sample(std::int64_t all, const Visit& visit) const {
    const std::int64_t taken = std::min(all, samples_);
    // Evenly spaced samples would all have the same alignment, so each sample has a different
    // offset within its share.
    constexpr std::int64_t kPrime = 7919;
    for (std::int64_t i = 0; i < taken; ++i)
      visit(i * all / taken + i * kPrime % (all / taken),
            static_cast<double>(all) / static_cast<double>(taken));
  }

  // --- without tiles ----------------------------------------------------------------------------

  void count_lines(std::int64_t size) {
    const std::int64_t per_warp = std::int64_t{kWarp} * schedule_.vector;
    sample((size + per_warp - 1) / per_warp, [&](std::int64_t warp, double times) {
      Lanes lanes;
      for (int lane = 0; lane < kWarp; ++lane)
        if (const std::int64_t first = warp * per_warp + lane * schedule_.vector; first < size)
          lanes.push_back(position(first));
      count_body(lanes, times, {}, 1);
    });
  }

  // --- with tiles -------------------------------------------------------------------------------

  void count_tiles() {
    const TiledAccesses tiled = tiled_accesses(body_, facts_);
    int largest = 1;
    for (const BodyStore& store : body_.stores)
      largest = std::max(largest, size_of(store.node->dtype));
    visit_tiles(
        tiled.axis, last_, schedule_.vector, largest,
        [&](const Lanes& lanes, double times) { count_body(lanes, times, tiled, largest); });
    for (const TiledAccess& access : all_of(body_, tiled)) {
      const int vector = tile_vector(body_, tiled.axis, access, schedule_, facts_);
      visit_tiles(last_, tiled.axis, vector, size_of(access.dtype),
                  [&](const Lanes& lanes, double times) {
                    count_access(access, lanes, tiled.axis, vector, true, times);
                  });
    }
  }

  /// Visits samples of the warps of a tile. Their lanes run along `along` with vectors of `vector`
  /// elements.
  template <class Visit>
  void visit_tiles(int down, int along, int vector, int bytes, const Visit& visit) const {
    const int edge = schedule_.tile;
    const int across = lanes_across(edge, vector, bytes);
    const int below = kWarp / across;
    const auto tiles_of = [&](int axis) {
      return (extents_[static_cast<std::size_t>(axis)] + edge - 1) / edge;
    };
    std::int64_t outer = 1;
    for (int axis = 0; axis < body_.parallel_axes; ++axis)
      if (axis != down && axis != along) outer *= extents_[static_cast<std::size_t>(axis)];
    const std::int64_t warps_along = edge / vector / across;
    const std::int64_t per_tile = warps_along * (edge / below);
    const std::int64_t tiles = tiles_of(down) * tiles_of(along);
    sample(outer * tiles * per_tile, [&](std::int64_t number, double times) {
      const std::int64_t warp = number % per_tile;
      const std::int64_t tile = number / per_tile % tiles;
      Lanes lanes;
      for (int lane = 0; lane < kWarp; ++lane) {
        Position at = position(number / per_tile / tiles, down, along);
        std::int64_t& line = at[static_cast<std::size_t>(down)];
        std::int64_t& start = at[static_cast<std::size_t>(along)];
        line = tile / tiles_of(along) * edge + warp / warps_along * below + lane / across;
        start = tile % tiles_of(along) * edge +
                (warp % warps_along * across + lane % across) * std::int64_t{vector};
        if (line < extents_[static_cast<std::size_t>(down)] &&
            start < extents_[static_cast<std::size_t>(along)])
          lanes.push_back(std::move(at));
      }
      visit(lanes, times);
    });
  }

  /// The position with this row-major index over all axes but two, which stay at 0. -1: no axis.
  Position position(std::int64_t number, int down = -1, int along = -1) const {
    Position result(extents_.size(), 0);
    for (int axis = body_.parallel_axes; axis-- > 0;) {
      if (axis == down || axis == along) continue;
      result[static_cast<std::size_t>(axis)] = number % extents_[static_cast<std::size_t>(axis)];
      number /= extents_[static_cast<std::size_t>(axis)];
    }
    return result;
  }

  // --- accesses ---------------------------------------------------------------------------------

  /// True if each thread of a tile makes an access along the last axis once for all of its vectors.
  /// These have the same position on that axis, and the access does not depend on their line.
  bool is_once_per_thread(const TiledAccess& access, int down, int largest) const {
    const int edge = schedule_.tile;
    const int across = lanes_across(edge, schedule_.vector, largest);
    const auto is_whole = [&](int axis) {
      return extents_[static_cast<std::size_t>(axis)] % edge == 0;
    };
    return schedule_.threads / kWarp % (edge / schedule_.vector / across) == 0 &&
           !depends_on(access.at, down) && is_whole(down) && is_whole(last_) &&
           std::ranges::none_of(access.conditions, [&](const Condition& condition) {
             return depends_on(condition.at, down);
           });
  }

  /// `largest`: bytes of the widest element that a tile's values are stored as.
  void count_body(const Lanes& lanes, double each, const TiledAccesses& tiled, int largest) {
    const int vectors = schedule_.tile * schedule_.tile / (schedule_.vector * schedule_.threads);
    const auto add = [&](const TiledAccess& access) {
      if (has_indirect(access.at)) return;
      const bool is_once = schedule_.tile > 0 && is_once_per_thread(access, tiled.axis, largest);
      const double times = is_once ? each / vectors : each;
      const bool is_wide =
          aligned_vector(access.at, last_, schedule_.vector, facts_) == schedule_.vector &&
          std::min<std::int64_t>(facts_.alignment, access.aligned * size_of(access.dtype)) >=
              std::min(16, schedule_.vector * size_of(access.dtype));
      count_access(access, lanes, last_, schedule_.vector, is_wide, times);
    };
    for (std::size_t i = 0; i < body_.values.size(); ++i)
      if (body_.values[i].kind == Value::Kind::load && !tiled.has_load(static_cast<int>(i)))
        add(load_of(body_, static_cast<int>(i)));
    for (std::size_t i = 0; i < body_.stores.size(); ++i)
      if (!tiled.has_store(static_cast<int>(i))) add(store_of(body_, static_cast<int>(i)));
  }

  bool holds(const Condition& condition, std::span<const std::int64_t> at) const {
    if (has_indirect(condition.at)) return true;
    const std::int64_t value = evaluate(condition.at, at, facts_.symbols);
    return value >= evaluate(condition.begin, facts_.symbols) &&
           value < evaluate(condition.end, facts_.symbols);
  }

  /// Counts one instruction for the whole vector, or one per element. A vector whose elements all
  /// have the same address takes one instruction.
  void count_access(const TiledAccess& access, const Lanes& lanes, int axis, int vector,
                    bool is_wide, double times) {
    const int size = size_of(access.dtype);
    const std::optional<Extent> step = step_along(access.at, axis, vector, facts_);
    const int instructions = is_wide || (step && step->is(0)) ? 1 : vector;
    for (int k = 0; k < instructions; ++k) {
      Request request;
      for (Position at : lanes) {
        at[static_cast<std::size_t>(axis)] += k;
        const auto is_met = [&](const Condition& condition) { return holds(condition, at); };
        if (!std::ranges::all_of(access.conditions, is_met)) continue;
        request.add(evaluate(access.at, at, facts_.symbols) * size,
                    std::int64_t{size} * (is_wide ? vector : 1));
      }
      request.count(sectors_, times);
    }
  }

  const Body& body_;
  const Schedule& schedule_;
  const Facts& facts_;
  std::int64_t samples_;  ///< the most warps that are counted
  int last_;
  std::vector<std::int64_t> extents_;
  Sectors sectors_;
};

}  // namespace

Sectors sectors_of(const Body& body, const Schedule& schedule, const Facts& facts,
                   std::int64_t samples) {
  return Counter(body, schedule, facts, samples).count();
}

}  // namespace sinter
