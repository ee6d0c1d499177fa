#include "compiler/candidates.h"

#include <algorithm>
#include <bit>

#include "compiler/access.h"
#include "compiler/cost.h"
#include "compiler/touched.h"
#include "compiler/tree.h"

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

/// Loads and stores that move along `axis`, with vectors of some width.
struct Accesses {
  int wide = 0;    ///< of a whole vector at once
  int narrow = 0;  ///< of each element

  /// Instructions for 16 elements.
  int instructions(int width) const { return wide * 16 / width + narrow * 16; }
};

Accesses accesses_along(const Body& body, int axis, int width, const Facts& facts) {
  Accesses result;
  const auto add = [&](const Index& at, DType dtype, std::span<const Condition> conditions) {
    if (!depends_on(at, axis)) return;
    const bool is_wide =
        aligned_vector(at, axis, width, facts) == width &&
        facts.alignment >= std::min<std::int64_t>(16, std::int64_t{width} * size_of(dtype)) &&
        std::ranges::all_of(conditions, [&](const Condition& condition) {
          return is_same_along(condition, axis, width, facts);
        });
    ++(is_wide ? result.wide : result.narrow);
  };
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load) add(value.at, value.dtype, value.conditions);
  for (const BodyStore& store : body.stores) add(store.at, store.node->dtype, {});
  return result;
}

/// The widest vector along `axis` that half of the accesses can make use of; or a narrower one that
/// more of them can, where that takes fewer instructions.
int useful_vector(const Body& body, int axis, int limit, const Facts& facts) {
  int width = limit;
  for (; width > 1; width /= 2) {
    const Accesses accesses = accesses_along(body, axis, width, facts);
    if (accesses.wide > 0 && accesses.wide >= accesses.narrow) break;
  }
  int best = width;
  int fewest = accesses_along(body, axis, width, facts).instructions(width);
  while (width /= 2, width > 1) {
    const int instructions = accesses_along(body, axis, width, facts).instructions(width);
    if (instructions < fewest) {
      best = width;
      fewest = instructions;
    }
  }
  return best;
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

class RowCandidates {
 public:
  RowCandidates(const Body& body, const Target& target, const Facts& facts, bool split)
      : body_(body),
        target_(target),
        facts_(facts),
        split_(split),
        extent_(evaluate(body.reduced_size(), facts.symbols)),
        rows_(evaluate(body.parallel_size(), facts.symbols)),
        tree_(tree_of(extent_)) {}

  std::vector<Schedule> make() {
    const bool is_narrow = sizes_along(body_, body_.reduced_axis()).largest <= 2;
    const int wide = is_narrow ? 8 : 4;
    const int first = split_ ? 256 : ladder(extent_);
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
    list_.add(schedule);
  }

  /// A thread's share of the kept values fits in half of its registers.
  bool fits(const Schedule& schedule) const {
    if (body_.passes() == 1 || !body_.reduced_size().is_number()) return false;
    constexpr std::int64_t kWords = 64;
    const std::int64_t per_part =
        std::int64_t{schedule.threads_per_row / schedule.groups} * (schedule.vector / kChunk);
    const std::int64_t tiles = (tree_.chunks_per_part + per_part - 1) / per_part;
    const std::int64_t vectors = tiles * (tree_.parts / schedule.groups);
    const std::int64_t bytes =
        vectors * schedule.vector * kept_bytes_per_element(body_, plan_resident_passes(body_));
    return bytes <= kWords * 4;
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
  List list_;
};

// --- columns ------------------------------------------------------------------------------------

/// Bytes of the largest accumulator; no sum, maximum or minimum needs more than 8.
std::int64_t widest_state(const Body& body) {
  std::int64_t widest = 8;
  for (const BodyReduction& reduction : body.reductions) {
    if (gives_index(reduction.node->op)) widest = std::max<std::int64_t>(widest, 16);
    if (reduction.node->op == Op::welford) widest = std::max<std::int64_t>(widest, 24);
    if (reduction.node->op == Op::logsumexp)
      widest = std::max<std::int64_t>(widest, 2 * size_of(reduction.node->dtype));
  }
  return widest;
}

/// True if `held` states per thread fit in its registers. A logsumexp has two numbers in each, and
/// its exponential and the rest of the loop take some 48 more (measured for sm_90).
bool holds_states(const Body& body, const Target& target, std::int64_t held, int threads) {
  const std::int64_t registers =
      std::min(target.registers_per_sm / threads, target.max_registers_per_thread);
  return std::ranges::none_of(body.reductions, [&](const BodyReduction& reduction) {
    const std::int64_t words = 2 * size_of(reduction.node->dtype) / 4;
    return reduction.node->op == Op::logsumexp && held * words + 48 > registers;
  });
}

std::vector<Schedule> columns(const Body& body, const Target& target, const Facts& facts) {
  const int axis = body.parallel_axes - 1;
  const Tree tree = tree_of(evaluate(body.reduced_size(), facts.symbols));
  const std::int64_t inner = evaluate(body.space.extent(axis), facts.symbols);
  const std::int64_t outer =
      evaluate(body.parallel_size(), facts.symbols) / std::max<std::int64_t>(inner, 1);
  const Sizes sizes = sizes_along(body, axis);
  const std::int64_t divisor = divisor_of(body.space.extent(axis), facts);
  const int limit = static_cast<int>(std::min<std::int64_t>(16 / sizes.largest, divisor));
  const int widest = useful_vector(body, axis, limit, facts);
  const std::int64_t state = widest_state(body);
  List list;
  const auto add = [&](int vector, int lanes, int side_by_side) {
    // At least 1/8 of the accumulators per thread would not fit in registers for wide vectors.
    lanes = static_cast<int>(std::min<std::int64_t>(lanes, tree.accumulators));
    const std::int64_t held = tree.accumulators / lanes * vector;
    // A thread keeps the parts of its group until the end: more groups, fewer parts for each.
    int groups = 1;
    while (tree.parts / groups * vector > 64 && groups < tree.parts &&
           lanes * side_by_side * groups * 2 <= 1024)
      groups *= 2;
    if (tree.parts / groups * vector > 64) return;
    const int threads = lanes * side_by_side * groups;
    const std::int64_t shared = 2 * std::int64_t{threads} * vector * state;
    if (held > 64 || threads > 1024 || threads < 32 || shared > target.shared_per_block_opt_in)
      return;
    if (!holds_states(body, target, held, threads)) return;
    list.add({.threads = threads,
              .vector = vector,
              .unroll = 1,
              .threads_per_row = lanes * groups,
              .rows_per_block = side_by_side,
              .groups = groups});
  };
  const auto side = [&](int vector) {
    // No more columns side by side than there are.
    const auto needed = static_cast<int>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(inner / vector, 1))));
    return std::min(needed, 32);
  };
  // Few columns: narrower blocks, so that more SMs have work.
  for (int vector = widest; vector >= 1; vector /= 2)
    for (const int wide : {side(vector), side(vector) / 2, side(vector) / 4})
      for (const int lanes : {16, 32, 64, 128})
        if (wide >= 1 &&
            (outer * inner / (std::int64_t{wide} * vector) >= target.sm_count || wide <= 8))
          add(vector, lanes, wide);
  if (tree.parts > 64)
    for (const int wide : {8, 4, 2}) add(1, 16, wide);
  for (const int lanes : {128, 512}) {
    const int shared = static_cast<int>(std::min<std::int64_t>(lanes, tree.accumulators));
    add(1, lanes, std::max(1, 32 / shared));
  }
  return list.take();
}

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
    case KernelKind::pointwise: return pointwise(body, target, facts);
    case KernelKind::scatter: return scatters(body, target, facts);
    case KernelKind::scan: return scans(body, target, facts);
    case KernelKind::column_reduce: return columns(body, target, facts);
    case KernelKind::row_reduce: return RowCandidates(body, target, facts, false).make();
    case KernelKind::full_reduce: return RowCandidates(body, target, facts, true).make();
    case KernelKind::joined: break;  // its members have their own
  }
  return {};
}

}  // namespace sinter
