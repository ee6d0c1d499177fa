// Columns that several blocks share. Each block reduces one split of the rows, and the last block
// combines the splits.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// `tiles` tiles of columns, each shared by `Schedule::splits` blocks.
class ColumnSplitWriter {
 public:
  ColumnSplitWriter(KernelWriter& writer, Extent tiles) : writer_(writer), tiles_(tiles) {}

  /// Declares `column_tile` and `split`, which select the block's columns and rows, and sets the
  /// grid.
  void declare();
  /// Stores `states`, the arrays of states of a thread's columns, in the workspace. All blocks of a
  /// tile but the last one return; the last one combines the splits into `states`.
  void write_combine(const std::vector<const Node*>& reductions,
                     const std::vector<std::string>& states);

 private:
  KernelWriter& writer_;
  Extent tiles_;
};

}  // namespace sinter
