// Column values that a block keeps in shared memory between passes.
#pragma once

#include <string>
#include <vector>

#include "codegen/kernels/shared_staging.h"
#include "codegen/statements/kernel_writer.h"
#include "compiler/tiling/column_split.h"

namespace sinter {

/// Each thread has its own vectors, one per row that it processes, so they need no barrier. Vectors
/// of adjacent threads are adjacent, and each of the four rows of a chunk has its own region.
/// A warp therefore accesses contiguous shared memory.
class ColumnStaging {
 public:
  /// Keeps nothing if the schedule is not resident.
  ColumnStaging(KernelWriter& writer, const ColumnSplit& split);

  const PassPlan& passes() const { return passes_; }
  /// Declares pointers to this thread's vectors and reserves shared memory for them.
  void declare();
  /// The values that `pass` keeps for later passes.
  std::vector<int> kept_by(int pass) const;
  /// Write the loads before, and the stores after, the work of `pass` on row `within` of chunk
  /// `chunk` of the split.
  void write_before(int pass, const std::string& chunk);
  void write_after(int pass, const std::string& chunk);

 private:
  std::string place(const std::string& chunk) const;
  int threads_side_by_side() const;

  KernelWriter& writer_;
  ColumnSplit split_;
  PassPlan passes_;
  SharedStaging staging_;
};

}  // namespace sinter
