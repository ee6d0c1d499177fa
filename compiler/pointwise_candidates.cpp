#include "compiler/pointwise_candidates.h"

#include <algorithm>

#include "compiler/access.h"
#include "compiler/candidate_list.h"
#include "compiler/cost.h"
#include "compiler/vector_use.h"
#include "compiler/waves.h"

namespace sinter {

namespace {

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
  const int widest = useful_vector(body, axis, limit, facts);

  // Enough bytes in flight: with all threads resident, each loads its share of the target's need.
  const std::int64_t per_thread = target.bytes_in_flight / target.max_threads_per_sm;
  const std::int64_t streams = std::max(sinter::streams(body), 1);
  const std::int64_t loaded = streams * widest * sizes.largest;
  const int unroll = loaded >= per_thread || 2 * widest > most ? 1 : 2;
  const auto blocks = [&](int threads, int vector, int times) {
    return size / (std::int64_t{threads} * vector * times);
  };
  // Small tensors spread over all SMs: fewer elements per thread before fewer busy SMs.
  Schedule best{.threads = 256, .vector = widest, .unroll = unroll};
  while (best.unroll > 1 && blocks(best.threads, best.vector, best.unroll) < target.sm_count)
    best.unroll /= 2;
  while (best.threads > 64 && blocks(best.threads, best.vector, 1) < target.sm_count)
    best.threads /= 2;
  // More elements per thread before a last wave of few blocks.
  constexpr int kMostAtOnce = 4;
  std::vector<Grid> grids;
  for (int times = best.unroll; times <= kMostAtOnce; times *= 2) {
    if (times > best.unroll && times * widest > most) break;
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
        list.add({.threads = threads, .vector = widest, .unroll = times});
  if (widest > 1)
    for (const int threads : {128, 256})
      list.add({.threads = threads, .vector = widest / 2, .unroll = 2});
  return list.take();
}

}  // namespace sinter
