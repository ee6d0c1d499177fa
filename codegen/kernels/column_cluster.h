// Columns of a cluster: blocks that have a split of the rows each, keep it, and hand their states
// over to one another at the end of every pass.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// The source's grid is one of tiles of columns, each the work of `Schedule::cluster` blocks.
class ColumnCluster {
 public:
  explicit ColumnCluster(KernelWriter& writer) : writer_(writer) {}

  /// Declares `column_tile` and `split`, by which this block knows its columns and rows, and what
  /// the cluster exchanges states in; sets the grid. This block arrives at the first barrier.
  void declare();
  /// Waits for all blocks to have started: before the first of them reaches into another.
  void await_start();
  /// Hands over `states`, arrays of those of a thread's columns, and joins those of all blocks.
  void write_join(const std::vector<const Node*>& reductions,
                  const std::vector<std::string>& states);

 private:
  KernelWriter& writer_;
};

}  // namespace sinter
