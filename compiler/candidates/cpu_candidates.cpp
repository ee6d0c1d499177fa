#include "compiler/candidates/cpu_candidates.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/candidates/row_column_candidates.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/size_class.h"
#include "compiler/tiling/scatter_residency.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Elements of a vector. Short enough that all vectors of a body stay in the first-level cache, and
/// long enough that the loops over them cost little.
constexpr std::int64_t kVector = 64;
/// The same along rows, whose accumulators share the vector's chunks.
constexpr std::int64_t kRowVector = 128;
/// The most columns of a block. Each one has a state per level of its tree. If rows are split, a
/// block reads long stretches of them.
constexpr std::int64_t kMostColumns = 256;
constexpr std::int64_t kMostColumnsOfSplit = 1024;
constexpr std::int64_t kFewestColumns = 64;
/// Rows whose sums share one state per column, at least: states then move few bytes.
constexpr std::int64_t kRowsPerState = 32;
/// Elements per block: the start of a block then costs little.
constexpr std::int64_t kElementsPerBlock = 4096;
/// Large tensors have at least so many blocks, for the threads of the CPU.
constexpr std::int64_t kBlocks = 64;
/// The most bytes of a row that stays on the stack between passes: half of a second-level cache.
constexpr std::int64_t kMostResidentBytes = 512 << 10;
/// Elements that a scatter moves for each index that its blocks read.
constexpr std::int64_t kElementsPerIndex = 16;

/// The tiles of `target` in blocks of one thread, if they are the heuristic's choice there. A block
/// transposes its tile in the first-level cache, where strided accesses cost little.
std::vector<Schedule> tiled(const Body& body, const Target& target, const Facts& facts) {
  std::vector<Schedule> list =
      with_tiles(pointwise_candidates(body, target, facts), body, target, facts);
  list.resize(1);
  if (list.front().tile == 0) return {};
  list.front().threads = 1;
  list.front().vector = list.front().tile;
  return list;
}

std::vector<Schedule> pointwise(const Body& body, const Target& target, const Facts& facts) {
  if (std::vector<Schedule> tiles = tiled(body, target, facts); !tiles.empty()) return tiles;
  const int axis = body.parallel_axes - 1;
  const std::int64_t row = axis < 0 ? 1 : evaluate(body.space.extent(axis), facts.symbols);
  const std::int64_t size = evaluate(body.parallel_size(), facts.symbols);
  const std::int64_t vector = std::clamp<std::int64_t>(bit_ceil(row), 1, kVector);
  const std::int64_t vectors =
      std::max<std::int64_t>(size / std::max<std::int64_t>(row, 1), 1) * divide_up(row, vector);
  const std::int64_t unroll = std::clamp<std::int64_t>(
      bit_floor(std::max<std::int64_t>(vectors / kBlocks, 1)), 1, kElementsPerBlock / vector);
  CandidateList list;
  list.add({.threads = 1, .vector = static_cast<int>(vector), .unroll = static_cast<int>(unroll)});
  return list.take();
}

/// Bytes per element of a row that stay on the stack: values that later passes use, and the states
/// of columns.
std::int64_t kept_bytes(const Body& body) {
  std::int64_t bytes = 0;
  if (body.passes() > 1)
    for (const int kept : plan_resident_passes(body).kept)
      bytes += size_of(info(body.values[static_cast<std::size_t>(kept)].dtype).compute);
  for (const BodyReduction& column : body.columns) bytes += state_bytes(*column.node);
  return bytes;
}

Schedule row(const Body& body, const Facts& facts) {
  const Tree tree = tree_of(evaluate(body.reduced_size(), facts.symbols));
  const std::int64_t longest = class_of_residency(body.reduced_size(), facts).high;
  const std::int64_t vector = std::clamp(tree.accumulators * kChunk, kChunk, kRowVector);
  return {.threads = 1,
          .vector = static_cast<int>(vector),
          .resident = body.passes() > 1 &&
                      longest <= kMostResidentBytes / std::max<std::int64_t>(kept_bytes(body), 1)};
}

std::vector<Schedule> rows(const Body& body, const Facts& facts, bool split) {
  Schedule schedule = row(body, facts);
  schedule.splits_rows = split;
  if (split) schedule.resident = false;
  return {schedule};
}

/// Empty if the row and the states of its columns do not fit on the stack and in shared memory.
std::vector<Schedule> row_columns(const Body& body, const Target& target, const Facts& facts) {
  Schedule schedule = row(body, facts);
  const std::int64_t longest = class_of_residency(body.reduced_size(), facts).high;
  if (longest > kMostResidentBytes / kept_bytes(body)) return {};
  const Tree tree = tree_of(evaluate(body.parallel_size(), facts.symbols));
  const std::int64_t most = std::min(tree.parts * tree.accumulators, kMaxCombinedSplits);
  std::int64_t state = 0;
  for (const BodyReduction& column : body.columns) state += state_bytes(*column.node);
  // States that wait for their partner in the tree are in shared memory.
  const auto waiting_bytes = [&](std::int64_t splits) {
    return pending_levels(tree, splits) * round_up(longest, schedule.vector) * state;
  };
  std::int64_t splits =
      std::clamp(std::min(kBlocks, bit_floor(tree.extent / kRowsPerState)), tree.parts, most);
  while (waiting_bytes(splits) > target.shared_per_block_opt_in) {
    if (splits >= most) return {};
    splits *= 2;
  }
  schedule.splits = static_cast<int>(splits);
  return {schedule};
}

/// Wide blocks, whose last vector may be shorter. Few of them divide the rows too.
std::vector<Schedule> columns(const Body& body, const Facts& facts) {
  const Extent inner = body.space.extent(body.parallel_axes - 1);
  const std::int64_t count = std::max<std::int64_t>(evaluate(inner, facts.symbols), 1);
  const bool may_split = body.passes() == 1 && !body.reductions.empty();
  const std::int64_t widest = std::min(count, may_split ? kMostColumnsOfSplit : kMostColumns);
  std::int64_t vector = widest;
  if (inner.is_number())
    while (count % vector != 0 && vector > kFewestColumns) --vector;
  if (count % vector != 0 || vector < std::min(count, kFewestColumns)) vector = widest;
  Schedule schedule{.threads = 1, .vector = static_cast<int>(vector)};
  if (!may_split) return {schedule};
  const Tree tree = tree_of(evaluate(body.reduced_size(), facts.symbols));
  const std::int64_t blocks = evaluate(body.parallel_size(), facts.symbols) / vector;
  const std::int64_t most =
      std::min(tree.parts * tree.accumulators, bit_floor(tree.extent / kRowsPerState));
  schedule.splits = static_cast<int>(
      std::clamp<std::int64_t>(bit_ceil(divide_up(kBlocks, std::max<std::int64_t>(blocks, 1))), 1,
                               std::max<std::int64_t>(most, 1)));
  return {schedule};
}

/// A block scans a row tile by tile. The tiles of few rows have a block each.
std::vector<Schedule> scan_tiles(const Body& body, const Facts& facts) {
  const std::int64_t extent = evaluate(body.reduced_size(), facts.symbols);
  const std::int64_t chunks = scan_chunks(extent);
  return {{.threads = 1,
           .vector = static_cast<int>(kChunk),
           .unroll = static_cast<int>(chunks),
           .splits_rows = extent > chunks * kChunk &&
                          evaluate(body.parallel_size(), facts.symbols) < kBlocks}};
}

/// Every block reads all indices, so there are few blocks if rows are short.
std::vector<Schedule> scattered_rows(const Body& body, const Target& target, const Facts& facts) {
  const std::int64_t rows = evaluate(body.space.extent(0), facts.symbols);
  const std::int64_t columns = evaluate(body.space.extent(1), facts.symbols);
  const std::int64_t indices = evaluate(body.space.extent(2), facts.symbols);
  const std::int64_t blocks = std::clamp<std::int64_t>(
      (rows + indices) * columns / std::max<std::int64_t>(indices * kElementsPerIndex, 1), 1,
      kBlocks);
  const std::int64_t most = most_rows_per_block(body, target, facts);
  return {{.threads = 1,
           .rows_per_block =
               static_cast<int>(std::clamp<std::int64_t>(divide_up(rows, blocks), 1, most)),
           .resident = rows_kept(body, target, facts) > 0}};
}

}  // namespace

std::vector<Schedule> cpu_candidates(KernelKind kind, const Body& body, const Target& target,
                                     const Facts& facts) {
  switch (kind) {
    case KernelKind::pointwise: return pointwise(body, target, facts);
    case KernelKind::row_reduce: return rows(body, facts, false);
    case KernelKind::full_reduce: return rows(body, facts, true);
    case KernelKind::column_reduce: return columns(body, facts);
    case KernelKind::row_column_reduce: return row_columns(body, target, facts);
    case KernelKind::scan: return scan_tiles(body, facts);
    case KernelKind::scatter: return scattered_rows(body, target, facts);
    case KernelKind::horizontal:  // its sections have their own candidates
    case KernelKind::opaque: break;
  }
  return {};
}

}  // namespace sinter
