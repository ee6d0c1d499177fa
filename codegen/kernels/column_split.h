// Splits of columns: blocks that have a part of the rows each, and the last one, which joins them.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// `extent` tiles of columns, each the work of `Schedule::splits` blocks.
class SplitColumns {
 public:
  SplitColumns(KernelWriter& writer, Extent tiles) : writer_(writer), tiles_(tiles) {}

  /// Declares `tile` and `split`, by which this block knows its columns and rows, and sets the
  /// grid.
  void declare();
  /// Leaves `states`, arrays of those of a thread's columns, in the workspace; all blocks but the
  /// last one of the tile end here, and that one joins them.
  void write_join(const std::vector<const Node*>& reductions,
                  const std::vector<std::string>& states);

 private:
  KernelWriter& writer_;
  Extent tiles_;
};

}  // namespace sinter
