// How the rows of a column kernel are dealt out to blocks, where one block for each tile of columns
// would leave SMs without work or cannot keep them: every block has a split of the reduction tree.
#pragma once

#include <algorithm>

#include "compiler/body/body.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/schedule.h"

namespace sinter {

/// The subtree that one of `splits` (a power of two) blocks has. Up to as many splits as parts,
/// split p has the parts that leave p when they are divided by `splits`. Beyond, number part +
/// parts * residue has those accumulators of one part that leave the residue when they are divided
/// by `residues`. By these numbers splits join far first, as the whole tree does.
struct ColumnSplit {
  std::int64_t splits = 1;
  std::int64_t parts = 1;            ///< in one split
  std::int64_t residues = 1;         ///< splits that share one part
  std::int64_t accumulators = 1;     ///< of each of its parts
  std::int64_t chunks_per_part = 0;  ///< of each of its parts, at most
};

constexpr ColumnSplit split_of(const Tree& tree, std::int64_t splits) {
  ColumnSplit split{.splits = splits,
                    .parts = std::max<std::int64_t>(tree.parts / splits, 1),
                    .residues = std::max<std::int64_t>(splits / tree.parts, 1)};
  split.accumulators = tree.accumulators / split.residues;
  split.chunks_per_part = (tree.chunks_per_part + split.residues - 1) / split.residues;
  return split;
}

/// Those of the blocks of `schedule` that share columns: of a cluster, or through the workspace.
inline ColumnSplit split_of(const Tree& tree, const Schedule& schedule) {
  return split_of(tree, std::int64_t{schedule.splits} * schedule.cluster);
}

/// Rows that a block which keeps its columns has place for.
constexpr std::int64_t kept_rows(const ColumnSplit& split) {
  return split.parts * split.chunks_per_part * kChunk;
}

/// Places that a block needs to hand over one state of each column and lane: half of the lanes
/// write, the others join.
inline std::int64_t exchange_places(const Schedule& schedule) {
  const bool has_lanes = schedule.threads_per_row > schedule.groups;
  return std::int64_t{schedule.threads} * schedule.vector / (has_lanes ? 2 : 1);
}

/// Columns of one block.
inline std::int64_t columns_of(const Schedule& schedule) {
  return std::int64_t{schedule.threads} / schedule.threads_per_row * schedule.vector;
}

/// Bytes of states that take `state_bytes` for each column, one from every block of a cluster;
/// whatever follows them begins where any state may.
inline std::int64_t cluster_bytes(const Schedule& schedule, std::int64_t state_bytes) {
  return (schedule.cluster * columns_of(schedule) * state_bytes + 15) / 16 * 16;
}
/// The same of all reductions of one pass of `body`, at most.
std::int64_t cluster_bytes(const Schedule& schedule, const Body& body);

}  // namespace sinter
