#include "compiler/candidates.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/access.h"
#include "compiler/cost.h"
#include "compiler/row_column.h"
#include "compiler/tile_candidates.h"
#include "compiler/touched.h"
#include "compiler/tree.h"
#include "compiler/vector_use.h"

namespace sinter {

namespace {

constexpr std::size_t kMost = 12;

/// Collects schedules in order, each once.
class List {
 public:
  void add(const Schedule& schedule) {
    if (list_.size() < kMost && std::ranges::find(list_, schedule) == list_.end())
      list_.push_back(schedule);
  }
  std::vector<Schedule> take() { return std::move(list_); }

 private:
  std::vector<Schedule> list_;
};

/// The sizes of elements that move along `axis`, in memory.
struct Sizes {
  int smallest = 8;
  int largest = 1;
  int streams = 0;  ///< loads that are not broadcast
  bool any = false;
};

Sizes sizes_along(const Body& body, int axis) {
  Sizes sizes;
  const auto add = [&](const Index& at, DType dtype) {
    if (axis >= 0 && !depends_on(at, axis)) return;
    sizes.smallest = std::min(sizes.smallest, size_of(dtype));
    sizes.largest = std::max(sizes.largest, size_of(dtype));
    sizes.any = true;
  };
  for (const Value& value : body.values) {
    if (value.kind != Value::Kind::load) continue;
    add(value.at, value.dtype);
    if (touched_elements(body, value).elements == body.parallel_size() * body.reduced_size())
      ++sizes.streams;
  }
  for (const BodyStore& store : body.stores) add(store.at, store.node->dtype);
  return sizes;
}

// --- pointwise ----------------------------------------------------------------------------------

std::vector<Schedule> pointwise(const Body& body, const Target& target, const Facts& facts) {
  const int axis = body.parallel_axes - 1;
  const std::int64_t size = evaluate(body.parallel_size(), facts.symbols);
  List list;
  if (axis < 0) {
    list.add({.threads = 32});
    return list.take();
  }
  const Sizes sizes = sizes_along(body, axis);
  int limit = 16 / sizes.largest;
  // With several axes a vector must not straddle two rows.
  const std::int64_t divisor = divisor_of(body.space.extent(axis), facts);
  if (body.parallel_axes > 1) limit = static_cast<int>(std::min<std::int64_t>(limit, divisor));
  const int widest = useful_vector(body, axis, limit, facts);

  // Enough bytes in flight: with all threads resident, each loads its share of the target's need.
  const std::int64_t per_thread = target.bytes_in_flight / target.max_threads_per_sm;
  const std::int64_t streams = std::max(sizes.streams, 1);
  const std::int64_t loaded = streams * widest * sizes.largest;
  const int unroll = loaded >= per_thread ? 1 : 2;
  const auto blocks = [&](int threads, int vector, int times) {
    return size / (std::int64_t{threads} * vector * times);
  };
  // Small tensors spread over all SMs: fewer elements per thread before fewer busy SMs.
  Schedule best{.threads = 256, .vector = widest, .unroll = unroll};
  while (best.unroll > 1 && blocks(best.threads, best.vector, best.unroll) < target.sm_count)
    best.unroll /= 2;
  while (best.threads > 64 && blocks(best.threads, best.vector, 1) < target.sm_count)
    best.threads /= 2;
  list.add(best);
  for (const int times : {1, 2, 4})
    for (const int threads : {128, 256, 512})
      list.add({.threads = threads, .vector = widest, .unroll = times});
  if (widest > 1)
    for (const int threads : {128, 256})
      list.add({.threads = threads, .vector = widest / 2, .unroll = 2});
  return list.take();
}

// --- rows ---------------------------------------------------------------------------------------

/// Threads per row by its length (QuACK's ladder).
int ladder(std::int64_t extent) {
  if (extent <= 64) return 8;
  if (extent <= 128) return 16;
  if (extent <= 3072) return 32;
  if (extent <= 6144) return 64;
  if (extent <= 16384) return 128;
  return 256;
}

/// Bytes of the largest accumulator, at least those of a sum of any dtype.
std::int64_t widest_state(const Body& body) {
  std::int64_t widest = 8;
  for (const BodyReduction& reduction : body.reductions)
    widest = std::max<std::int64_t>(widest, state_bytes(*reduction.node));
  return widest;
}

/// Registers of a thread for what it keeps of its row, and for all else.
constexpr std::int64_t kKeptWords = 64;
constexpr std::int64_t kOtherRegisters = 40;
constexpr std::uint64_t kMostThreadsThatKeep = 512;

class RowCandidates {
 public:
  RowCandidates(const Body& body, const Target& target, const Facts& facts, bool split)
      : body_(body),
        target_(target),
        facts_(facts),
        split_(split),
        extent_(evaluate(body.reduced_size(), facts.symbols)),
        rows_(evaluate(body.parallel_size(), facts.symbols)),
        tree_(tree_of(extent_)),
        may_keep_(body.passes() > 1 && body.reduced_size().is_number()) {
    if (!may_keep_) return;
    const PassPlan plan = plan_resident_passes(body);
    kept_bytes_ = kept_bytes_per_element(body, plan);
    const std::vector<int> slots = kept_slots(body, plan).bytes;
    slot_bytes_ = std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
  }

  std::vector<Schedule> make() {
    const bool is_narrow = sizes_along(body_, body_.reduced_axis()).largest <= 2;
    const int wide = is_narrow && !is_better_narrow() ? 8 : 4;
    const int first = split_ ? 256 : std::max(ladder(extent_), threads_to_keep());
    add(first, wide, default_threads());
    add(first, 4, default_threads());
    for (const int vector : {wide, 4})
      for (const int scale : {2, 4})
        for (const bool more : {true, false})
          add(more ? first * scale : first / scale, vector, default_threads());
    add(first, wide, 256);
    add(first, wide, 512);
    if (std::vector<Schedule> result = list_.take(); !result.empty()) return result;
    return {fallback()};
  }

 private:
  int default_threads() const { return 128; }

  /// True if vectors of 4 read more of the rows as a whole than those of 8.
  bool is_better_narrow() const {
    const auto instructions = [&](int vector) {
      return accesses_along(body_, body_.reduced_axis(), vector, facts_).instructions(vector);
    };
    return instructions(4) < instructions(8);
  }

  /// How many threads keep a row in their registers; as many as a block with shared memory to
  /// itself should have if none do.
  int threads_to_keep() const {
    if (!may_keep_) return 1;
    const std::int64_t bytes = extent_ * kept_bytes_;
    const auto threads =
        static_cast<std::uint64_t>((bytes + kKeptWords * 4 - 1) / (kKeptWords * 4));
    // A row that nothing can keep is read again, by as many threads as any other.
    if (threads > kMostThreadsThatKeep && !fits_resident(body_, target_)) return 1;
    return static_cast<int>(
        std::bit_ceil(std::clamp<std::uint64_t>(threads, 1, kMostThreadsThatKeep)));
  }

  void add(int threads_per_row, int vector, int threads) {
    const int chunks = vector / static_cast<int>(kChunk);
    if (tree_.accumulators < chunks) return;
    // A vector must not straddle two parts; with symbols their length may be odd.
    if (chunks > 1 && tree_.parts > 1 &&
        (!body_.reduced_size().is_number() || tree_.chunks_per_part % chunks != 0))
      return;
    Schedule schedule{.vector = vector, .split = split_};
    int per_row = std::clamp(threads_per_row, 1, 1024);
    if (split_) {
      schedule.groups = 1;
    } else {
      schedule.groups =
          static_cast<int>(std::min<std::int64_t>(tree_.parts, std::max(1, per_row / 32)));
    }
    // More threads than accumulators would stand idle.
    const auto most = static_cast<int>(tree_.accumulators / chunks) * schedule.groups;
    per_row = std::min(per_row, most);
    schedule.threads_per_row = per_row;
    schedule.rows_per_block = std::max(1, threads / per_row);
    // Few rows spread over all SMs; whole warps all the same.
    while (schedule.rows_per_block > 1 && rows_ / schedule.rows_per_block < target_.sm_count &&
           schedule.rows_per_block * per_row > 32)
      schedule.rows_per_block /= 2;
    if (split_) schedule.rows_per_block = 1;
    schedule.threads = schedule.rows_per_block * per_row;
    if (schedule.threads < 32) {
      if (split_) return;
      schedule.rows_per_block = 32 / per_row;
      schedule.threads = 32;
    }
    if (schedule.threads > 1024) return;
    schedule.resident = fits(schedule);
    schedule.in_shared = !schedule.resident && fits_shared(schedule);
    schedule.resident = schedule.resident || schedule.in_shared;
    list_.add(schedule);
  }

  std::int64_t vectors_of(const Schedule& schedule) const {
    const std::int64_t per_part =
        std::int64_t{schedule.threads_per_row / schedule.groups} * (schedule.vector / kChunk);
    const std::int64_t tiles = (tree_.chunks_per_part + per_part - 1) / per_part;
    return tiles * (tree_.parts / schedule.groups);
  }

  /// A thread's share of the kept values fits in its registers beside what else it needs.
  bool fits(const Schedule& schedule) const {
    if (!may_keep_) return false;
    const std::int64_t words = std::min<std::int64_t>(
        kKeptWords, target_.registers_per_sm / schedule.threads - kOtherRegisters);
    return vectors_of(schedule) * schedule.vector * kept_bytes_ <= words * 4;
  }

  /// The block's shared memory holds the kept values of its rows.
  bool fits_shared(const Schedule& schedule) const {
    if (split_ || !may_keep_) return false;
    const std::int64_t exchange =
        2 * std::int64_t{schedule.threads} * (schedule.vector / kChunk) * widest_state(body_);
    return exchange + vectors_of(schedule) * schedule.vector * schedule.threads * slot_bytes_ <=
           target_.shared_per_block_opt_in;
  }

  Schedule fallback() const {
    return {.threads = 32,
            .vector = 4,
            .threads_per_row = 1,
            .rows_per_block = 32,
            .groups = 1,
            .resident = false,
            .split = false};
  }

  const Body& body_;
  const Target& target_;
  const Facts& facts_;
  bool split_;
  std::int64_t extent_;
  std::int64_t rows_;
  Tree tree_;
  bool may_keep_;  ///< several passes go over rows of a known length
  // Of what is kept of a row, per element: in registers, in shared memory.
  std::int64_t kept_bytes_ = 0;
  std::int64_t slot_bytes_ = 0;
  List list_;
};

// --- columns ------------------------------------------------------------------------------------

/// Registers of a thread, roughly: what waits in the trees of the reductions (one state for each of
/// `levels`, and those that are joined), four rows of every load, and the rest of the loop.
std::int64_t registers_of(const Body& body, int vector, std::int64_t levels) {
  std::int64_t loads = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load && value.varies) loads += size_of(value.dtype);
  std::int64_t states = 0;
  bool is_heavy = false;
  for (const BodyReduction& reduction : body.reductions) {
    states += state_bytes(*reduction.node);
    is_heavy = is_heavy || reduction.node->op == Op::logsumexp;
  }
  return (is_heavy ? 48 : 32) + vector * (states * (levels + 2) + kChunk * loads) / 4;
}

/// Columns side by side in a block, and threads along the rows: enough of them, over all blocks, to
/// keep the memory busy.
class ColumnCandidates {
 public:
  ColumnCandidates(const Body& body, const Target& target, const Facts& facts)
      : body_(body),
        target_(target),
        sizes_(sizes_along(body, body.parallel_axes - 1)),
        tree_(tree_of(evaluate(body.reduced_size(), facts.symbols))),
        inner_(evaluate(body.space.extent(body.parallel_axes - 1), facts.symbols)),
        outer_(evaluate(body.parallel_size(), facts.symbols) / std::max<std::int64_t>(inner_, 1)) {
    const std::int64_t divisor = divisor_of(body.space.extent(body.parallel_axes - 1), facts);
    const int limit = static_cast<int>(std::min<std::int64_t>(16 / sizes_.largest, divisor));
    widest_ = useful_vector(body, body.parallel_axes - 1, limit, facts);
  }

  std::vector<Schedule> make() {
    for (int vector = widest_; vector >= 1; vector /= 2) {
      const int wide = side_by_side(vector);
      const int lanes = lanes_for(vector, wide);
      add(vector, lanes, wide);
      add(vector, lanes * 2, wide);
      add(vector, lanes / 2, wide);
      add(vector, lanes, wide * 2);
      add(vector, lanes * 2, wide / 2);
    }
    for (const int lanes : {16, 64, 512}) {
      const auto own = static_cast<int>(std::min<std::int64_t>(lanes, tree_.accumulators));
      add(1, own, std::max(1, 32 / own));
    }
    return list_.take();
  }

 private:
  /// 128 bytes of a row, fewer where blocks would be too few for all SMs, but never less than the
  /// 32 that come together anyway.
  int side_by_side(int vector) const {
    const int bytes = vector * sizes_.largest;
    const auto there = static_cast<int>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(inner_ / vector, 1))));
    // Short columns have few threads each: more of them, so that blocks are not tiny.
    const int least = std::max(1, static_cast<int>(32 / tree_.accumulators));
    const int good = std::max(128 / bytes, static_cast<int>(128 / tree_.accumulators));
    int wide = std::max(std::min({good, there, 128}), least);
    while (wide > least && wide * bytes > 32 &&
           outer_ * inner_ / (std::int64_t{wide} * vector) < target_.sm_count)
      wide /= 2;
    return wide;
  }

  /// Each thread has four rows of every stream on their way.
  int lanes_for(int vector, int wide) const {
    const std::int64_t bytes =
        kChunk * vector * sizes_.largest * std::max<std::int64_t>(sizes_.streams, 1);
    const std::int64_t threads = target_.sm_count * target_.bytes_in_flight / bytes;
    const std::int64_t columns = std::max<std::int64_t>(outer_ * inner_ / vector, 1);
    const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(threads / columns, 1));
    return static_cast<int>(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::bit_ceil(wanted)), 16, std::max(512 / wide, 16)));
  }

  void add(int vector, int lanes, int side_by_side) {
    if (lanes < 1 || side_by_side < 1) return;
    lanes = static_cast<int>(std::min<std::int64_t>(lanes, tree_.accumulators));
    int groups = 1;
    // Short of threads along the rows, parts are dealt out too.
    while (groups * 2 <= tree_.parts && lanes == tree_.accumulators &&
           lanes * side_by_side * groups * 2 <= 256)
      groups *= 2;
    const int threads = lanes * side_by_side * groups;
    const std::int64_t shared = 2 * std::int64_t{threads} * vector * widest_state(body_);
    if (threads > 1024 || threads < 32 || shared > target_.shared_per_block_opt_in) return;
    const auto levels = static_cast<std::int64_t>(
        std::bit_width(static_cast<std::uint64_t>(tree_.accumulators / lanes)) +
        std::bit_width(static_cast<std::uint64_t>(tree_.parts / groups)));
    const std::int64_t registers = registers_of(body_, vector, levels);
    if (vector > 1 && registers > std::min<std::int64_t>(target_.registers_per_sm / threads,
                                                         target_.max_registers_per_thread))
      return;
    list_.add({.threads = threads,
               .vector = vector,
               .unroll = 1,
               .threads_per_row = lanes * groups,
               .rows_per_block = side_by_side,
               .groups = groups});
  }

  const Body& body_;
  const Target& target_;
  Sizes sizes_;
  Tree tree_;
  std::int64_t inner_;
  std::int64_t outer_;
  int widest_ = 1;
  List list_;
};

// --- scans --------------------------------------------------------------------------------------

/// A thread for each chunk of a tile; short rows share a block.
std::vector<Schedule> scans(const Body& body, const Target& target, const Facts& facts) {
  const std::int64_t rows = evaluate(body.parallel_size(), facts.symbols);
  const auto chunks = static_cast<int>(scan_chunks(evaluate(body.reduced_size(), facts.symbols)));
  List list;
  for (const int threads : {256, 128, 512}) {
    int side_by_side = std::max(threads / chunks, 1);
    // Few rows spread over all SMs; whole warps all the same.
    while (side_by_side > 1 && rows / side_by_side < target.sm_count && side_by_side * chunks > 32)
      side_by_side /= 2;
    side_by_side = std::max(side_by_side, (32 + chunks - 1) / chunks);
    list.add({.threads = side_by_side * chunks,
              .threads_per_row = chunks,
              .rows_per_block = side_by_side});
  }
  return list.take();
}

// --- scatters -----------------------------------------------------------------------------------

/// Every block reads all indices: with many of them, no more blocks than SMs.
std::vector<Schedule> scatters(const Body& body, const Target& target, const Facts& facts) {
  constexpr std::int64_t kManyIndices = 1 << 16;
  const std::int64_t rows = evaluate(body.space.extent(0), facts.symbols);
  const std::int64_t indices = evaluate(body.space.extent(2), facts.symbols);
  List list;
  for (const int threads : {256, 128, 512})
    for (const int per_sm : {indices > kManyIndices ? 1 : 4, 1, 2, 8}) {
      const std::int64_t blocks = std::int64_t{target.sm_count} * per_sm;
      const std::int64_t per_block = std::max<std::int64_t>((rows + blocks - 1) / blocks, 1);
      list.add({.threads = threads,
                .rows_per_block = static_cast<int>(std::min<std::int64_t>(per_block, INT32_MAX))});
    }
  return list.take();
}

}  // namespace

std::vector<Schedule> candidates(KernelKind kind, const Body& body, const Target& target,
                                 const Facts& facts) {
  switch (kind) {
    case KernelKind::pointwise:
      return with_tiles(pointwise(body, target, facts), body, target, facts);
    case KernelKind::scatter: return scatters(body, target, facts);
    case KernelKind::scan: return scans(body, target, facts);
    case KernelKind::column_reduce: return ColumnCandidates(body, target, facts).make();
    case KernelKind::row_reduce: return RowCandidates(body, target, facts, false).make();
    case KernelKind::row_column_reduce: return row_column_candidates(body, target, facts);
    case KernelKind::full_reduce: return RowCandidates(body, target, facts, true).make();
    case KernelKind::joined: break;  // its members have their own
  }
  return {};
}

}  // namespace sinter
