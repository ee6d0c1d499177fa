// What a block keeps of its columns in shared memory between passes.
#pragma once

#include <string>
#include <vector>

#include "codegen/kernels/shared_staging.h"
#include "codegen/statements/kernel_writer.h"
#include "compiler/tiling/column_split.h"

namespace sinter {

/// Each thread has vectors of its own there, one for each of its rows, so that no barrier is needed
/// for them. Those of neighbouring threads lie side by side, and each of the four rows of a chunk
/// has a region of its own: a warp reads whole lines of shared memory.
class ColumnStaging {
 public:
  /// Keeps nothing unless the writer's schedule is resident.
  ColumnStaging(KernelWriter& writer, const ColumnSplit& split);

  const PassPlan& passes() const { return passes_; }
  /// Declares pointers to this thread's vectors, behind what the kernel has of shared memory.
  void declare();
  /// The values that `pass` leaves for later ones.
  std::vector<int> kept_by(int pass) const;
  /// Before and after what `pass` does with the row `within` of chunk number `chunk` of the split.
  void write_before(int pass, const std::string& chunk);
  void write_after(int pass, const std::string& chunk);

 private:
  std::string place(const std::string& chunk) const;
  int threads_side_by_side() const;

  KernelWriter& writer_;
  ColumnSplit split_;
  PassPlan passes_;
  SharedStaging keeps_;
};

}  // namespace sinter
