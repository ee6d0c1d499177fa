#include "compiler/candidates/candidate_list.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/body/collapse_axes.h"
#include "compiler/body/footprint.h"
#include "compiler/candidates/register_estimate.h"
#include "compiler/program/op_cost.h"
#include "compiler/target/wave_quantization.h"
#include "compiler/tiling/vector_width.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Maximum vectors that a thread loads at once, and the same for vectors of two
/// bytes. More than 8 single bytes would take so many registers that an SM has fewer threads.
constexpr int kMaxVectors = 8;
constexpr int kMaxVectorsOfTwoBytes = 16;
/// Maximum instructions in the kernel text. Longer texts take ptxas more time per instruction, and
/// expensive bodies need fewer loads in flight.
constexpr int kMaxInstructions = 4096;

/// A vector of flat iteration, which may cross the ends of rows.
struct FlatVector {
  int width = 1;         ///< 1: there is none
  int instructions = 0;  ///< of loads and stores, per 16 elements
};

/// Load instructions per 16 elements of the loads `row_loads`, which cannot use flat vectors of
/// `width`.
int instructions_of_row_loads(const Body& body, std::span<const int> row_loads, int width,
                              const Facts& facts) {
  const int last = body.parallel_axes - 1;
  const int max_width = static_cast<int>(
      std::min<std::int64_t>(width / 2, divisor_of(body.space.extent(last), facts)));
  int result = 0;
  for (const int load : row_loads) {
    const Value& value = body.values[static_cast<std::size_t>(load)];
    const std::int64_t alignment =
        std::min(facts.alignment, std::int64_t{value.aligned} * size_of(value.dtype));
    result +=
        16 / partial_vector_along(value.at, value.dtype, alignment, last, max_width, facts).each;
  }
  return result;
}

/// The widest flat vector, at most `limit`, that all stores and at least one load can use. A
/// few other loads are allowed if each of their elements serves many positions, and so stays in the
/// caches.
FlatVector flat_vector(const Body& body, int limit, std::int64_t size, const Facts& facts) {
  constexpr std::size_t kMaxRowLoads = 4;
  constexpr std::int64_t kMinPositionsPerElement = 8;
  const auto is_flat = [&](const Index& at, DType dtype, int aligned, int width) {
    return is_linear_position(body, at, width) &&
           std::min(facts.alignment, std::int64_t{aligned} * size_of(dtype)) >=
               std::min<std::int64_t>(16, std::int64_t{width} * size_of(dtype));
  };
  for (const Value& value : body.values)
    if (!value.conditions.empty() || has_indirect(value.at)) return {};
  for (; limit > 1; limit /= 2) {
    std::vector<int> row_loads;
    int flat_loads = 0;
    bool is_possible = std::ranges::all_of(body.stores, [&](const BodyStore& store) {
      return store.conditions.empty() && is_flat(store.at, store.node->dtype, store.aligned, limit);
    });
    for (std::size_t i = 0; i < body.values.size() && is_possible; ++i) {
      const Value& value = body.values[i];
      if (value.kind != Value::Kind::load || value.at.is_constant()) continue;
      if (is_flat(value.at, value.dtype, value.aligned, limit))
        ++flat_loads;
      else if (evaluate(footprint_of(body, value).elements, facts.symbols) *
                   kMinPositionsPerElement <=
               size)
        row_loads.push_back(static_cast<int>(i));
      else
        is_possible = false;
    }
    if (!is_possible || flat_loads == 0 || row_loads.size() > kMaxRowLoads) continue;
    const int flat_accesses = flat_loads + static_cast<int>(body.stores.size());
    return {.width = limit,
            .instructions = flat_accesses * 16 / limit +
                            instructions_of_row_loads(body, row_loads, limit, facts)};
  }
  return {};
}

/// Instructions per 16 elements of vectors of `width` within rows: loads and stores, less the
/// saving on values that are constant along a row. Flat vectors compute these values for each
/// element.
int instructions_within_rows(const Body& body, int axis, int width, const Facts& facts) {
  constexpr int kOpsPerAccess = 4;  // issued in the time of one memory access
  int row_constant_loads = 0;
  int saved = 0;
  std::vector<bool> moves(body.values.size());
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    moves[i] = depends_on(value.at, axis) || std::ranges::any_of(value.operands, [&](int operand) {
                 return moves[static_cast<std::size_t>(operand)];
               });
    if (moves[i]) continue;
    if (value.kind == Value::Kind::load && !value.at.is_constant()) ++row_constant_loads;
    if (value.kind == Value::Kind::op) saved += instructions_of(value.node->op);
  }
  return accesses_along(body, axis, width, facts).instructions(width) +
         row_constant_loads * 16 / width - saved * (16 - 16 / width) / kOpsPerAccess;
}

class PointwiseCandidates {
 public:
  PointwiseCandidates(const Body& body, const Target& target, const Facts& facts)
      : target_(target),
        size_(evaluate(body.parallel_size(), facts.symbols)),
        bytes_(largest_element_along(body, body.parallel_axes - 1)),
        full_loads_(std::max(full_loads(body), 1)),
        max_elements_(std::max(1, kMaxInstructions / (1 + instructions_per_position(body)))) {
    const int axis = body.parallel_axes - 1;
    const auto max_vector = static_cast<int>(std::min<std::int64_t>(16, bit_floor(max_elements_)));
    const int limit = std::min(16 / bytes_, max_vector);
    // With several axes a vector must not straddle two rows.
    const auto divisor =
        body.parallel_axes > 1 ? static_cast<int>(divisor_of(body.space.extent(axis), facts)) : 16;
    row_vector_ = useful_vector(body, axis, std::min(limit, divisor), facts);
    // If no wide vector divides the row length: flat iteration, if its vectors are wider.
    if (body.parallel_axes == 1 || row_vector_ >= limit) return;
    const FlatVector flat = flat_vector(body, limit, size_, facts);
    if (flat.width <= row_vector_) return;
    flat_vector_ = flat.width;
    is_flat_ = flat.instructions < instructions_within_rows(body, axis, row_vector_, facts);
  }

  std::vector<Schedule> make() {
    const int vector = is_flat_ ? flat_vector_ : row_vector_;
    list_.add(best(is_flat_));
    for (const int times : {1, 2, 4})
      for (const int threads : {128, 256, 512})
        if (times == 1 || times * vector <= max_elements_)
          list_.add({.threads = threads, .vector = vector, .unroll = times, .is_flat = is_flat_});
    if (flat_vector_ > 1) list_.add(best(!is_flat_));
    if (is_flat_) list_.add({.threads = 256, .vector = row_vector_, .unroll = 2});
    if (row_vector_ > 1 && !is_flat_)
      for (const int threads : {128, 256})
        list_.add({.threads = threads, .vector = row_vector_ / 2, .unroll = 2});
    return list_.take();
  }

 private:
  std::int64_t blocks(const Schedule& schedule) const {
    return size_ / (std::int64_t{schedule.threads} * schedule.vector * schedule.unroll);
  }

  /// Maximum elements per thread with more than two vectors. Beyond it a thread computes for longer
  /// than it loads, so more loads in flight do not help.
  std::int64_t max_elements_for_loads() const { return max_elements_ / 4; }

  /// Vectors per thread for enough bytes in flight: with all threads resident, each loads its share
  /// of the target's need. More than two only if every SM reads enough to justify the longer text.
  int unroll_for_loads(int vector) const {
    const std::int64_t per_thread = target_.bytes_in_flight / target_.max_threads_per_sm;
    const std::int64_t loaded = full_loads_ * vector * bytes_;
    const bool is_large = size_ * full_loads_ * bytes_ >=
                          2 * std::int64_t{target_.bytes_in_flight} * target_.sm_count;
    const int max_vectors = vector * bytes_ == 2 ? kMaxVectorsOfTwoBytes : kMaxVectors;
    int unroll = 1;
    while (unroll < (is_large ? max_vectors : 2) && unroll * loaded < per_thread &&
           2 * unroll * vector <= (unroll < 2 ? max_elements_ : max_elements_for_loads()))
      unroll *= 2;
    return unroll;
  }

  Schedule best(bool is_flat) const {
    const int vector = is_flat ? flat_vector_ : row_vector_;
    // Spreads small tensors over all SMs: fewer elements per thread rather than idle SMs.
    Schedule best{
        .threads = 256, .vector = vector, .unroll = unroll_for_loads(vector), .is_flat = is_flat};
    while (best.unroll > 1 && blocks(best) < target_.sm_count) best.unroll /= 2;
    const auto has_few = [&](Schedule schedule) {
      schedule.unroll = 1;
      return blocks(schedule) < target_.sm_count;
    };
    while (best.threads > 64 && has_few(best)) best.threads /= 2;
    // More elements per thread rather than a last wave of few blocks.
    const int max_unroll = std::max(best.unroll, 4);
    std::vector<Grid> grids;
    Schedule more = best;
    for (; more.unroll <= max_unroll; more.unroll *= 2) {
      if (more.unroll > best.unroll && more.unroll * vector > max_elements_for_loads()) break;
      grids.push_back(grid_of(more));
    }
    best.unroll <<= best_in_waves(target_, grids);
    if (best.unroll > kMaxVectors) best.blocks_per_sm = blocks_for_bytes_in_flight(best);
    return best;
  }

  /// Blocks per SM with enough bytes in flight. Without this bound the compiler saves registers for
  /// more blocks, and loads less at once.
  int blocks_for_bytes_in_flight(const Schedule& schedule) const {
    const std::int64_t bytes =
        std::int64_t{schedule.threads} * schedule.unroll * schedule.vector * bytes_ * full_loads_;
    const std::int64_t blocks = divide_up<std::int64_t>(target_.bytes_in_flight, bytes);
    return static_cast<int>(
        std::min<std::int64_t>(blocks, target_.max_threads_per_sm / schedule.threads));
  }

  Grid grid_of(const Schedule& schedule) const {
    const std::int64_t bytes = std::int64_t{schedule.unroll} * schedule.vector * bytes_;
    const std::int64_t registers = pointwise_registers(bytes, full_loads_);
    return {.blocks_per_sm = static_cast<double>(blocks(schedule)) / target_.sm_count,
            .resident = blocks_per_sm(target_, schedule.threads, static_cast<int>(registers), 0),
            .bytes_in_flight = static_cast<double>(schedule.threads * bytes * full_loads_)};
  }

  const Target& target_;
  std::int64_t size_;
  int bytes_;                  ///< of the largest element along the last axis
  std::int64_t full_loads_;    ///< at least one
  std::int64_t max_elements_;  ///< maximum elements per thread in the kernel text
  int row_vector_ = 1;         ///< the widest useful vector within rows
  int flat_vector_ = 1;        ///< the flat vector if it is wider; else 1
  bool is_flat_ = false;       ///< the flat vector takes fewer instructions
  CandidateList list_;
};

}  // namespace

std::vector<Schedule> pointwise_candidates(const Body& body, const Target& target,
                                           const Facts& facts) {
  if (body.parallel_axes == 0) return {{.threads = 32}};
  return PointwiseCandidates(body, target, facts).make();
}

}  // namespace sinter
