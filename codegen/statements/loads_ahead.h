// Loads of several vectors before anything is done with the first of them, in loops whose text
// would else have the loads of one vector behind what is done with the one before.
#pragma once

#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// What one pass loads of each vector of a row, in arrays that last for as many vectors as a thread
/// loads at once.
class LoadsAhead {
 public:
  LoadsAhead() = default;
  /// Of the values that a pass needs: the loads that nothing has to be known for.
  LoadsAhead(KernelWriter& writer, const std::vector<bool>& needed);

  bool empty() const { return loads_.empty(); }
  /// Registers of one vector of each.
  int words() const;
  /// Declares the arrays, and writes with them what `inside` does.
  void with_arrays(int vectors, const std::function<void()>& inside);
  /// Within it: the loads of the vector at `tile`, which is number `place`.
  void write_loads(const std::string& place, const Tile& tile);
  /// Within it: what `inside` does takes its loads from there.
  void with_loads(const std::string& place, const std::function<void()>& inside);

 private:
  KernelWriter* writer_ = nullptr;
  std::vector<int> loads_;
  std::vector<std::string> names_;  ///< of their arrays
};

}  // namespace sinter
