// Loads and stores of a column kernel that are contiguous along the reduced axis. Its vectors run
// across the columns, so a thread moves the elements of a chunk at once, one column after the other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// Such loads and stores of one pass.
class ChunkAccesses {
 public:
  /// Takes those among `loads` and `stores` that may be made across vectors.
  ChunkAccesses(KernelWriter& writer, std::span<const int> loads, std::span<const int> stores);

  bool empty() const { return arrays_.empty(); }
  /// Writes the loads, then `inside`, and then the stores if `condition` holds, or always if it is
  /// empty. The position in `axis_names` is the first of the chunk. Statements of `inside` access
  /// the vector `within` instead of memory, and may change the position.
  void write(const std::string& condition, const std::function<void()>& inside);

 private:
  struct Array {
    int load = -1;
    int store = -1;
    std::string name = {};
  };

  KernelWriter& writer_;
  std::vector<Array> arrays_;
};

}  // namespace sinter
