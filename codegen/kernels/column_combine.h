// Columns that several blocks share. Each block reduces one split of the rows. At the end of a
// pass, the blocks of a cluster send their states to one another. Without a cluster, the last block
// combines the splits.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// Declares `column_tile` and `split`, which select the block's columns and rows, and the exchange
/// of the cluster. Source::grid must be the number of column tiles. Multiplies it by the number of
/// blocks that share a tile.
void declare_column_split(KernelWriter& writer);

/// Shares `states`, the arrays of states of a thread's columns, with all blocks of the cluster.
/// Combines the states of all blocks into `states`: of all threads of a column if `to_all`, else of
/// the first one.
void combine_columns_in_cluster(KernelWriter& writer, const std::vector<const Node*>& reductions,
                                const std::vector<std::string>& states, bool to_all);
/// Stores `states` in the workspace. All blocks of a column tile but the last one return; the last
/// one combines the splits into `states`.
void combine_columns_in_last_block(KernelWriter& writer, const std::vector<const Node*>& reductions,
                                   const std::vector<std::string>& states, bool to_all);

}  // namespace sinter
