// Splits the rows of a column kernel over blocks: each block computes one split of the reduction
// tree. Used if one block per tile of columns would leave SMs idle or cannot keep its columns.
#pragma once

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/schedule.h"
#include "ir/support/round_up.h"

namespace sinter {

/// The subtree of one of `splits` blocks (a power of two). If there are at most as many splits as
/// parts, split p has the parts that are p modulo `splits`. Otherwise split part + parts * residue
/// has the accumulators of one part that are `residue` modulo `residues`. In this numbering, splits
/// combine far first, as the whole tree does.
struct ColumnSplit {
  std::int64_t splits = 1;
  std::int64_t parts = 1;            ///< in one split
  std::int64_t residues = 1;         ///< splits that share one part
  std::int64_t accumulators = 1;     ///< per part of the split
  std::int64_t chunks_per_part = 0;  ///< per part of the split, at most
};

constexpr ColumnSplit split_of(const Tree& tree, std::int64_t splits) {
  ColumnSplit split{.splits = splits,
                    .parts = std::max<std::int64_t>(tree.parts / splits, 1),
                    .residues = std::max<std::int64_t>(splits / tree.parts, 1)};
  split.accumulators = tree.accumulators / split.residues;
  split.chunks_per_part = divide_up(tree.chunks_per_part, split.residues);
  return split;
}

/// The split of the blocks that share columns under `schedule`, in a cluster or through the
/// workspace.
inline ColumnSplit split_of(const Tree& tree, const Schedule& schedule) {
  return split_of(tree, std::int64_t{schedule.splits} * schedule.cluster);
}

/// Rows per block if the block keeps its columns.
constexpr std::int64_t kept_rows(const ColumnSplit& split) {
  return split.parts * split.chunks_per_part * kChunk;
}

/// Slots of shared memory for exchanging one state per column and lane. Half of the lanes write,
/// and the other half combine.
inline std::int64_t exchange_slots(const Schedule& schedule) {
  const bool has_lanes = schedule.threads_per_row > schedule.groups;
  return std::int64_t{schedule.threads} * schedule.vector / (has_lanes ? 2 : 1);
}

/// Columns of one block.
inline std::int64_t columns_of(const Schedule& schedule) {
  return std::int64_t{schedule.threads} / schedule.threads_per_row * schedule.vector;
}

/// Bytes for states of `state_bytes` per column from every block of a cluster, rounded up so that
/// any state type may follow.
inline std::int64_t cluster_bytes(const Schedule& schedule, std::int64_t state_bytes) {
  return round_up(schedule.cluster * columns_of(schedule) * state_bytes, 16);
}
/// The maximum over the passes of `body` of the sum over that pass's reductions.
inline std::int64_t cluster_bytes(const Schedule& schedule, const Body& body) {
  return std::ranges::max(sums_by_pass(body, [&](const Node& reduction) {
    return cluster_bytes(schedule, state_bytes(reduction));
  }));
}

}  // namespace sinter
