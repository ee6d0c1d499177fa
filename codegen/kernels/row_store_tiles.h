// Stores of row kernels that are contiguous across adjacent rows. The rows of a block are collected
// in shared memory and then stored with coalesced accesses.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

class RowStoreTiles {
 public:
  explicit RowStoreTiles(KernelWriter& writer);

  /// Reserves the tiles in shared memory and redirects these stores to them. `Shape` must be
  /// declared.
  void declare();
  /// After all rows: stores the tiles to memory.
  void write_stores();

 private:
  struct TileOfRows {
    int store = 0;
    std::string name;
  };
  void write_stores(const TileOfRows& tile);
  std::string column() const;

  KernelWriter& writer_;
  std::vector<TileOfRows> tiles_;
};

}  // namespace sinter
