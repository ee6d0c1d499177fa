#include "compiler/candidates/candidates.h"

#include <algorithm>
#include <cstdint>

#include "compiler/body/access.h"
#include "compiler/candidates/cache_hints.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/candidates/column_candidates.h"
#include "compiler/candidates/copied_candidates.h"
#include "compiler/candidates/cpu_candidates.h"
#include "compiler/candidates/row_column_candidates.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/tiling/kernel_kind.h"
#include "compiler/tiling/scatter_residency.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Contiguous rows: one or four chunks of a tile per thread; short rows share a block. Memory
/// contiguous across rows: adjacent threads have adjacent rows, at least a sector of them, and
/// eight or four chunks each. If rows are too few for all SMs, their tiles are distributed over
/// blocks.
std::vector<Schedule> scans(const Body& body, const Target& target, const Facts& facts) {
  const std::int64_t rows = evaluate(body.parallel_size(), facts.symbols);
  const std::int64_t extent = evaluate(body.reduced_size(), facts.symbols);
  const auto chunks = static_cast<int>(scan_chunks(extent));
  const bool is_across = is_contiguous_across_rows(body, facts);
  const bool has_tiles = extent > chunks * kChunk;
  const int sector = is_across ? 32 / largest_element_along(body, body.parallel_axes - 1) : 1;
  CandidateList list;
  const auto add = [&](int threads, int each) {
    const int lanes = std::max(chunks / each, 1);
    int rows_per_block = std::max(threads / lanes, sector);
    // Spreads few rows over all SMs, but keeps whole warps.
    while (rows_per_block > sector && rows / rows_per_block < target.sm_count &&
           rows_per_block * lanes > 32)
      rows_per_block /= 2;
    rows_per_block = std::max(rows_per_block, divide_up(32, lanes));
    Schedule schedule{.threads = rows_per_block * lanes,
                      .vector = static_cast<int>(kChunk),
                      .unroll = chunks / lanes,
                      .threads_per_row = lanes,
                      .rows_per_block = rows_per_block};
    const bool is_split = has_tiles && rows / rows_per_block < target.sm_count;
    for (const bool split : {is_split, !is_split}) {
      schedule.splits_rows = split;
      if (has_tiles || !split) list.add(schedule);
    }
  };
  for (const int threads : {256, 128, 512})
    for (const int each : is_across ? std::vector{8, 4} : std::vector{1, 4}) add(threads, each);
  return list.take();
}

/// Every block reads all indices, so with many indices the default is one block per SM.
std::vector<Schedule> scatters(const Body& body, const Target& target, const Facts& facts) {
  constexpr std::int64_t kManyIndices = 1 << 16;
  const bool is_kept = rows_kept(body, target, facts) > 0;
  const std::int64_t max_rows = most_rows_per_block(body, target, facts);
  const std::int64_t indices = evaluate(body.space.extent(2), facts.symbols);
  CandidateList list;
  for (const int threads : {256, 128, 512})
    for (const int per_sm : {indices > kManyIndices ? 1 : 4, 1, 2, 8}) {
      const std::int64_t per_block = owned_rows_per_block(body, target, facts, per_sm);
      list.add({.threads = threads,
                .rows_per_block = static_cast<int>(std::min(per_block, max_rows)),
                .resident = is_kept});
    }
  return list.take();
}

std::vector<Schedule> candidates_without_hints(KernelKind kind, const Body& body,
                                               const Target& target, const Facts& facts) {
  switch (kind) {
    case KernelKind::pointwise: {
      std::vector<Schedule> list = pointwise_candidates(body, target, facts);
      // Flat iteration follows the memory order of most accesses, so it needs no tiles.
      if (!list.front().is_flat) list = with_tiles(std::move(list), body, target, facts);
      return with_copies(std::move(list), body, target, facts);
    }
    case KernelKind::scatter: return scatters(body, target, facts);
    case KernelKind::scan: return scans(body, target, facts);
    case KernelKind::column_reduce: return column_candidates(body, target, facts);
    case KernelKind::row_reduce:
      return with_copies(row_candidates(body, target, facts, false), body, target, facts);
    case KernelKind::row_column_reduce: return row_column_candidates(body, target, facts);
    case KernelKind::full_reduce: return row_candidates(body, target, facts, true);
    case KernelKind::horizontal:  // its sections have their own candidates
    case KernelKind::opaque: break;
  }
  return {};
}

}  // namespace

std::vector<Schedule> candidates(KernelKind kind, const Body& body, const Target& target,
                                 const Facts& facts) {
  if (target.is_cpu) return cpu_candidates(kind, body, target, facts);
  return with_cache_hints(candidates_without_hints(kind, body, target, facts), body, target, facts);
}

}  // namespace sinter
