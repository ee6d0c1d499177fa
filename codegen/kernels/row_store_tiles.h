// Results of rows that lie in memory along neighbouring rows: the block's rows leave them in shared
// memory, from where they are stored along memory.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

class RowTiles {
 public:
  explicit RowTiles(KernelWriter& writer);

  /// Their shared memory, behind all else that the kernel has there; from here on what is stored
  /// goes there. Threads of a row are `Shape::kThreads`.
  void declare();
  /// Once all rows are done: from there to memory.
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
