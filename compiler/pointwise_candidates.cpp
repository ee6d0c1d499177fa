#include "compiler/pointwise_candidates.h"

#include <algorithm>

#include "compiler/access.h"
#include "compiler/candidate_list.h"
#include "compiler/cost.h"
#include "compiler/touched.h"
#include "compiler/vector_use.h"
#include "compiler/waves.h"

namespace sinter {

namespace {

/// Single elements, or vectors of them, that a thread loads at once.
constexpr int kMostUnrolled = 8;

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

/// The widest vector <= `limit` that runs past the ends of rows: along all stores and loads but a
/// few whose elements each serve many places, and stay in the caches. 1: there is none.
int flat_vector(const Body& body, int limit, std::int64_t size, const Facts& facts) {
  constexpr int kMostOthers = 4;
  constexpr std::int64_t kLeastPlaces = 8;
  const auto runs = [&](const Index& at, DType dtype, int aligned, int width) {
    return is_place(body, at, width) &&
           std::min(facts.alignment, std::int64_t{aligned} * size_of(dtype)) >=
               std::min<std::int64_t>(16, std::int64_t{width} * size_of(dtype));
  };
  for (const Value& value : body.values)
    if (!value.conditions.empty() || has_indirect(value.at)) return 1;
  for (; limit > 1; limit /= 2) {
    int others = 0;
    int along = 0;
    for (const Value& value : body.values) {
      if (value.kind != Value::Kind::load || value.at.is_constant()) continue;
      if (runs(value.at, value.dtype, value.aligned, limit))
        ++along;
      else if (evaluate(touched_elements(body, value).elements, facts.symbols) * kLeastPlaces <=
               size)
        ++others;
      else
        others = kMostOthers + 1;
    }
    const bool stores = std::ranges::all_of(body.stores, [&](const BodyStore& store) {
      return store.conditions.empty() && runs(store.at, store.node->dtype, store.aligned, limit);
    });
    if (stores && along > 0 && others <= kMostOthers) return limit;
  }
  return 1;
}

}  // namespace

std::vector<Schedule> pointwise_candidates(const Body& body, const Target& target,
                                           const Facts& facts) {
  const int axis = body.parallel_axes - 1;
  const std::int64_t size = evaluate(body.parallel_size(), facts.symbols);
  CandidateList list;
  if (axis < 0) {
    list.add({.threads = 32});
    return list.take();
  }
  const Sizes sizes = sizes_along(body, axis);
  int limit = 16 / sizes.largest;
  // With several axes a vector must not straddle two rows.
  const std::int64_t divisor = divisor_of(body.space.extent(axis), facts);
  if (body.parallel_axes > 1) limit = static_cast<int>(std::min<std::int64_t>(limit, divisor));
  const std::int64_t most = most_written_out(body);
  while (limit > most) limit /= 2;
  int widest = useful_vector(body, axis, limit, facts);
  // Rows of an odd length would go by single elements: all rows as one, where that has vectors.
  int flat = widest > 1 || body.parallel_axes == 1
                 ? 1
                 : flat_vector(body, 16 / sizes.largest, size, facts);
  while (flat > most) flat /= 2;
  const bool is_flat = flat > 1;
  widest = std::max(widest, flat);

  // Enough bytes in flight: with all threads resident, each loads its share of the target's need.
  const std::int64_t per_thread = target.bytes_in_flight / target.max_threads_per_sm;
  const std::int64_t streams = std::max(sinter::streams(body), 1);
  const std::int64_t loaded = streams * widest * sizes.largest;
  // More than two only where every SM reads so much that it pays to compile them, and computing
  // does not take longer than that.
  const std::int64_t most_for_loads = most / 4;
  const bool is_large =
      size * streams * sizes.largest >= 2 * std::int64_t{target.bytes_in_flight} * target.sm_count;
  int unroll = 1;
  while (unroll < (is_large ? kMostUnrolled : 2) && unroll * loaded < per_thread &&
         2 * unroll * widest <= (unroll < 2 ? most : most_for_loads))
    unroll *= 2;
  const auto blocks = [&](int threads, int vector, int times) {
    return size / (std::int64_t{threads} * vector * times);
  };
  // Small tensors spread over all SMs: fewer elements per thread before fewer busy SMs.
  Schedule best{.threads = 256, .vector = widest, .unroll = unroll, .is_flat = is_flat};
  while (best.unroll > 1 && blocks(best.threads, best.vector, best.unroll) < target.sm_count)
    best.unroll /= 2;
  while (best.threads > 64 && blocks(best.threads, best.vector, 1) < target.sm_count)
    best.threads /= 2;
  // More elements per thread before a last wave of few blocks.
  const int most_at_once = std::max(best.unroll, 4);
  std::vector<Grid> grids;
  for (int times = best.unroll; times <= most_at_once; times *= 2) {
    if (times > best.unroll && times * widest > most_for_loads) break;
    const std::int64_t registers =
        kPointwiseRegisters + times * widest * sizes.largest * (streams + 1) / 4;
    grids.push_back(
        {.blocks_per_sm =
             static_cast<double>(blocks(best.threads, widest, times)) / target.sm_count,
         .resident = blocks_per_sm(target, best.threads, static_cast<int>(registers), 0),
         .bytes_in_flight = static_cast<double>(best.threads * times * loaded)});
  }
  best.unroll <<= best_in_waves(target, grids);
  list.add(best);
  for (const int times : {1, 2, 4})
    for (const int threads : {128, 256, 512})
      if (times == 1 || times * widest <= most)
        list.add({.threads = threads, .vector = widest, .unroll = times, .is_flat = is_flat});
  if (is_flat) list.add({.threads = 256, .vector = 1, .unroll = 2});
  if (widest > 1 && !is_flat)
    for (const int threads : {128, 256})
      list.add({.threads = threads, .vector = widest / 2, .unroll = 2});
  return list.take();
}

}  // namespace sinter
