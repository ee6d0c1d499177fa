// Columns that the blocks of a cluster share. Each block keeps one split of the rows and sends its
// states to the other blocks at the end of every pass.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// Source::grid must be the number of column tiles; `declare` multiplies it by
/// `Schedule::cluster`.
class ColumnClusterWriter {
 public:
  explicit ColumnClusterWriter(KernelWriter& writer) : writer_(writer) {}

  /// Declares `column_tile` and `split`, which select the block's columns and rows, and the
  /// exchange of the cluster. Sets the grid. The block arrives at the first cluster barrier.
  void declare();
  /// Waits until all blocks have started. Comes before the first access to another block's memory.
  void await_start();
  /// Shares `states`, the arrays of states of a thread's columns, with all blocks of the cluster.
  /// Combines the states of all blocks into `states`.
  void write_combine(const std::vector<const Node*>& reductions,
                     const std::vector<std::string>& states);

 private:
  KernelWriter& writer_;
};

}  // namespace sinter
