#include "compiler/candidates/pointwise_candidates.h"

#include <algorithm>
#include <bit>

#include "compiler/body/access.h"
#include "compiler/body/collapse_axes.h"
#include "compiler/body/footprint.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/program/op_cost.h"
#include "compiler/target/wave_quantization.h"
#include "compiler/tiling/vector_width.h"

namespace sinter {

namespace {

/// Vectors that a thread loads at once, and those of two bytes. Of single bytes more than 8 at once
/// take registers for which an SM has fewer threads.
constexpr int kMostUnrolled = 8;
constexpr int kMostOfTwoBytes = 16;

/// Elements per thread that a body may be written out for: ptxas takes ever longer per instruction,
/// and what computes so much need not load so much at once.
std::int64_t most_written_out(const Body& body) {
  constexpr std::int64_t kMostInstructions = 4096;
  std::int64_t instructions = 1;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::op) instructions += instructions_of(value.node->op);
  return std::max<std::int64_t>(1, kMostInstructions / instructions);
}

/// Of a thread, beside the vectors that it loads and stores.
constexpr std::int64_t kPointwiseRegisters = 16;

/// Vectors that run past the ends of rows.
struct FlatVector {
  int width = 1;         ///< 1: there is none
  int instructions = 0;  ///< of loads and stores, for 16 elements
};

/// What is read otherwise than along vectors of `width` over all axes: instructions for 16
/// elements.
int instructions_of_others(const Body& body, std::span<const int> others, int width,
                           const Facts& facts) {
  const int last = body.parallel_axes - 1;
  const int most = static_cast<int>(
      std::min<std::int64_t>(width / 2, divisor_of(body.space.extent(last), facts)));
  int result = 0;
  for (const int other : others) {
    const Value& value = body.values[static_cast<std::size_t>(other)];
    const std::int64_t alignment =
        std::min(facts.alignment, std::int64_t{value.aligned} * size_of(value.dtype));
    result += 16 / partial_vector_along(value.at, value.dtype, alignment, last, most, facts).each;
  }
  return result;
}

/// The widest vector <= `limit` along all stores and loads but a few whose elements each serve many
/// places, and stay in the caches.
FlatVector flat_vector(const Body& body, int limit, std::int64_t size, const Facts& facts) {
  constexpr std::size_t kMostOthers = 4;
  constexpr std::int64_t kLeastPlaces = 8;
  const auto runs = [&](const Index& at, DType dtype, int aligned, int width) {
    return is_place(body, at, width) &&
           std::min(facts.alignment, std::int64_t{aligned} * size_of(dtype)) >=
               std::min<std::int64_t>(16, std::int64_t{width} * size_of(dtype));
  };
  for (const Value& value : body.values)
    if (!value.conditions.empty() || has_indirect(value.at)) return {};
  for (; limit > 1; limit /= 2) {
    std::vector<int> others;
    int along = 0;
    bool is_possible = std::ranges::all_of(body.stores, [&](const BodyStore& store) {
      return store.conditions.empty() && runs(store.at, store.node->dtype, store.aligned, limit);
    });
    for (std::size_t i = 0; i < body.values.size() && is_possible; ++i) {
      const Value& value = body.values[i];
      if (value.kind != Value::Kind::load || value.at.is_constant()) continue;
      if (runs(value.at, value.dtype, value.aligned, limit))
        ++along;
      else if (evaluate(footprint_of(body, value).elements, facts.symbols) * kLeastPlaces <= size)
        others.push_back(static_cast<int>(i));
      else
        is_possible = false;
    }
    if (!is_possible || along == 0 || others.size() > kMostOthers) continue;
    const int whole = along + static_cast<int>(body.stores.size());
    return {
        .width = limit,
        .instructions = whole * 16 / limit + instructions_of_others(body, others, limit, facts)};
  }
  return {};
}

/// Of vectors of `width` that end where rows do: what they load and store, and what they compute of
/// the same for all of their elements, which vectors past the ends of rows compute for each.
int instructions_in_rows(const Body& body, int axis, int width, const Facts& facts) {
  constexpr int kOpsPerAccess = 4;  // that an SM issues in the time of one for memory
  int same = 0;
  int saved = 0;
  std::vector<bool> moves(body.values.size());
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    moves[i] = depends_on(value.at, axis) || std::ranges::any_of(value.operands, [&](int operand) {
                 return moves[static_cast<std::size_t>(operand)];
               });
    if (moves[i]) continue;
    if (value.kind == Value::Kind::load && !value.at.is_constant()) ++same;
    if (value.kind == Value::Kind::op) saved += instructions_of(value.node->op);
  }
  return accesses_along(body, axis, width, facts).instructions(width) + same * 16 / width -
         saved * (16 - 16 / width) / kOpsPerAccess;
}

class PointwiseCandidates {
 public:
  PointwiseCandidates(const Body& body, const Target& target, const Facts& facts)
      : target_(target),
        size_(evaluate(body.parallel_size(), facts.symbols)),
        bytes_(sizes_along(body, body.parallel_axes - 1).largest),
        streams_(std::max(streams(body), 1)),
        most_(most_written_out(body)) {
    const int axis = body.parallel_axes - 1;
    const auto written_out = static_cast<int>(
        std::min<std::int64_t>(16, std::bit_floor(static_cast<std::uint64_t>(most_))));
    const int limit = std::min(16 / bytes_, written_out);
    // With several axes a vector must not straddle two rows.
    const auto divisor =
        body.parallel_axes > 1 ? static_cast<int>(divisor_of(body.space.extent(axis), facts)) : 16;
    in_rows_ = useful_vector(body, axis, std::min(limit, divisor), facts);
    // Rows whose length no wide vector divides: all rows as one, where that has wider vectors.
    if (body.parallel_axes == 1 || in_rows_ >= limit) return;
    const FlatVector flat = flat_vector(body, limit, size_, facts);
    if (flat.width <= in_rows_) return;
    flat_ = flat.width;
    is_flat_ = flat.instructions < instructions_in_rows(body, axis, in_rows_, facts);
  }

  std::vector<Schedule> make() {
    const int vector = is_flat_ ? flat_ : in_rows_;
    list_.add(best(is_flat_));
    for (const int times : {1, 2, 4})
      for (const int threads : {128, 256, 512})
        if (times == 1 || times * vector <= most_)
          list_.add({.threads = threads, .vector = vector, .unroll = times, .is_flat = is_flat_});
    if (flat_ > 1) list_.add(best(!is_flat_));
    if (is_flat_) list_.add({.threads = 256, .vector = in_rows_, .unroll = 2});
    if (in_rows_ > 1 && !is_flat_)
      for (const int threads : {128, 256})
        list_.add({.threads = threads, .vector = in_rows_ / 2, .unroll = 2});
    return list_.take();
  }

 private:
  std::int64_t blocks(const Schedule& schedule) const {
    return size_ / (std::int64_t{schedule.threads} * schedule.vector * schedule.unroll);
  }

  /// More vectors than two only where every SM reads so much that it pays to compile them, and
  /// computing does not take longer than that.
  std::int64_t most_for_loads() const { return most_ / 4; }

  /// Enough bytes in flight: with all threads resident, each loads its share of the target's need.
  int unroll_for_loads(int vector) const {
    const std::int64_t per_thread = target_.bytes_in_flight / target_.max_threads_per_sm;
    const std::int64_t loaded = streams_ * vector * bytes_;
    const bool is_large =
        size_ * streams_ * bytes_ >= 2 * std::int64_t{target_.bytes_in_flight} * target_.sm_count;
    const int most_unrolled = vector * bytes_ == 2 ? kMostOfTwoBytes : kMostUnrolled;
    int unroll = 1;
    while (unroll < (is_large ? most_unrolled : 2) && unroll * loaded < per_thread &&
           2 * unroll * vector <= (unroll < 2 ? most_ : most_for_loads()))
      unroll *= 2;
    return unroll;
  }

  Schedule best(bool is_flat) const {
    const int vector = is_flat ? flat_ : in_rows_;
    // Small tensors spread over all SMs: fewer elements per thread before fewer busy SMs.
    Schedule best{
        .threads = 256, .vector = vector, .unroll = unroll_for_loads(vector), .is_flat = is_flat};
    while (best.unroll > 1 && blocks(best) < target_.sm_count) best.unroll /= 2;
    const auto has_few = [&](Schedule schedule) {
      schedule.unroll = 1;
      return blocks(schedule) < target_.sm_count;
    };
    while (best.threads > 64 && has_few(best)) best.threads /= 2;
    // More elements per thread before a last wave of few blocks.
    const int most_at_once = std::max(best.unroll, 4);
    std::vector<Grid> grids;
    Schedule more = best;
    for (; more.unroll <= most_at_once; more.unroll *= 2) {
      if (more.unroll > best.unroll && more.unroll * vector > most_for_loads()) break;
      grids.push_back(grid_of(more));
    }
    best.unroll <<= best_in_waves(target_, grids);
    if (best.unroll > kMostUnrolled) best.blocks_per_sm = blocks_that_load_enough(best);
    return best;
  }

  /// The compiler is told where registers decide: by itself it saves them for more blocks, and
  /// loads less at once.
  int blocks_that_load_enough(const Schedule& schedule) const {
    const std::int64_t bytes =
        std::int64_t{schedule.threads} * schedule.unroll * schedule.vector * bytes_ * streams_;
    const std::int64_t blocks = (target_.bytes_in_flight + bytes - 1) / bytes;
    return static_cast<int>(
        std::min<std::int64_t>(blocks, target_.max_threads_per_sm / schedule.threads));
  }

  Grid grid_of(const Schedule& schedule) const {
    const std::int64_t bytes = std::int64_t{schedule.unroll} * schedule.vector * bytes_;
    const std::int64_t registers = kPointwiseRegisters + bytes * (streams_ + 1) / 4;
    return {.blocks_per_sm = static_cast<double>(blocks(schedule)) / target_.sm_count,
            .resident = blocks_per_sm(target_, schedule.threads, static_cast<int>(registers), 0),
            .bytes_in_flight = static_cast<double>(schedule.threads * bytes * streams_)};
  }

  const Target& target_;
  std::int64_t size_;
  int bytes_;             ///< of the largest element along the last axis
  std::int64_t streams_;  ///< at least one
  std::int64_t most_;     ///< elements per thread that the text is written for
  int in_rows_ = 1;       ///< the widest useful vector that ends where rows do …
  int flat_ = 1;          ///< … and one that does not, if it is wider; else 1
  bool is_flat_ = false;  ///< which of the two takes fewer instructions
  CandidateList list_;
};

}  // namespace

std::vector<Schedule> pointwise_candidates(const Body& body, const Target& target,
                                           const Facts& facts) {
  if (body.parallel_axes == 0) return {{.threads = 32}};
  return PointwiseCandidates(body, target, facts).make();
}

}  // namespace sinter
