#include "compiler/tiling/row_residency.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/body/footprint.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/size_class.h"
#include "compiler/target/wave_quantization.h"

namespace sinter {

namespace {

/// Bytes of a row that the registers of one block hold: 64 registers in each of 512 threads.
constexpr std::int64_t kResidentBytes = 128 * 1024;
/// Shared memory reserved for the exchange of reduction states.
constexpr std::int64_t kExchangeBytes = 16 * 1024;
/// No cluster keeps a row of more elements.
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;

/// True if keeping rows resident in clusters, on `blocks` SMs, is faster than splitting them over
/// all SMs. Split rows are read again in every pass, from the L2 cache after the first pass, with a
/// grid barrier between passes.
bool is_residency_faster(const Body& body, std::int64_t blocks, std::int64_t parts,
                         const Target& target, const Facts& facts) {
  if (blocks == 0) return false;
  constexpr double kLoadsOfKeeper = 32 << 10;  // bytes in flight per block that keeps a row
  constexpr double kLoadsOfPart = 8 << 10;     // bytes in flight per block that has a part
  double read = 0;
  double stored = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load && value.varies)
      read += bytes_of(footprint_of(body, value).elements, value.dtype, facts);
  for (const BodyStore& store : body.stores)
    stored += bytes_of(stored_elements(body, store), store.node->dtype, facts);
  const auto seconds = [&](std::int64_t count, double loads, double latency_gain) {
    const Grid grid{.blocks_per_sm = static_cast<double>(count) / target.sm_count,
                    .resident = target.max_threads_per_sm / 256,
                    .bytes_in_flight = std::min(loads, read / static_cast<double>(count))};
    return read / target.bandwidth * slowdown(target, grid, latency_gain);
  };
  const auto storing = [&](std::int64_t count) {
    return stored /
           (target.bandwidth *
            std::min(kStoreThroughput * static_cast<double>(count) / target.sm_count, 1.0));
  };
  const double later = body.passes() - 1;
  const double kept = seconds(blocks, kLoadsOfKeeper, 1) + storing(blocks) +
                      (target.max_cluster > 1 ? target.cluster_barrier_seconds * (later + 1) : 0);
  const double split = seconds(parts, kLoadsOfPart, 1) + storing(parts) +
                       later * (seconds(parts, kLoadsOfPart, kL2LatencyGain) / kL2BandwidthRatio +
                                target.barrier_seconds) +
                       kLastBlockSeconds * (later + 1);
  return kept <= split;
}

}  // namespace

bool fits_resident(const Body& body, const Target& target, const Facts& facts, int most_blocks) {
  if (!body.has_reduced_axis || body.passes() == 1) return false;
  const std::int64_t extent = class_of_residency(body.reduced_size(), facts).high;
  if (extent > kMostElements) return false;
  const std::int64_t blocks = std::min<std::int64_t>(most_blocks, tree_of(extent).parts);
  // If even all values together fit, there is no need to plan which ones are kept.
  std::int64_t all = 0;
  for (const Value& value : body.values)
    if (value.varies) all += kept_bytes(value);
  if (extent * all <= blocks * kResidentBytes) return true;
  const PassPlan plan = plan_resident_passes(body);
  if (extent * kept_bytes_per_element(body, plan) <= blocks * kResidentBytes) return true;
  return extent * kept_slots(body, plan).bytes_per_element() <=
         blocks * (target.shared_per_block_opt_in - kExchangeBytes);
}

bool splits_rows(std::int64_t rows, std::int64_t extent, const Target& target) {
  return tree_of(extent).parts > 1 && rows * 2 <= target.sm_count;
}

bool should_split_rows(const Body& body, const Target& target, const Facts& facts) {
  if (!body.has_reduced_axis) return false;
  const std::int64_t rows = evaluate(body.parallel_size(), facts.symbols);
  const std::int64_t extent = evaluate(body.reduced_size(), facts.symbols);
  if (!splits_rows(rows, extent, target)) return false;
  if (body.passes() == 1 || !fits_resident(body, target, facts, target.max_cluster)) return true;
  const std::int64_t parts = tree_of(extent).parts;
  const std::int64_t blocks = rows * std::min<std::int64_t>(target.max_cluster, parts);
  return splits_rows(blocks, extent, target) &&
         !is_residency_faster(body, blocks, rows * parts, target, facts);
}

std::int64_t most_resident_bytes(const Target& target) {
  return std::max<std::int64_t>(kResidentBytes, target.shared_per_block_opt_in - kExchangeBytes);
}

}  // namespace sinter
