// Loads several vectors before the first of them is used, so that all loads are in flight at once.
// Otherwise a rolled loop would start the loads of a vector after the work on the previous one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// The loads of one pass, in arrays that hold as many vectors as a thread loads at once.
class LoadsAhead {
 public:
  LoadsAhead() = default;
  /// Takes those loads among the `needed` values that may be made ahead (may_load_ahead).
  LoadsAhead(KernelWriter& writer, const std::vector<bool>& needed);

  bool empty() const { return loads_.empty(); }
  std::size_t size() const { return loads_.size(); }
  /// 32-bit registers for one vector of each load.
  int words() const;
  /// Declares arrays of `vectors` vectors that are in scope while `inside` writes.
  void with_arrays(int vectors, const std::function<void()>& inside);
  /// Inside with_arrays: writes the loads of `tile` into array element `place`.
  void write_loads(const std::string& place, const Tile& tile);
  /// Inside with_arrays: sets array element `place` of each load to the vector that `vector_of`
  /// returns for it.
  void write_vectors(const std::string& place, const std::function<std::string(int)>& vector_of);
  /// Inside with_arrays: loads that `inside` writes read array element `place` instead of memory.
  void with_loads(const std::string& place, const std::function<void()>& inside);

 private:
  KernelWriter* writer_ = nullptr;
  std::vector<int> loads_;
  std::vector<std::string> names_;  ///< of the arrays, one per load
};

}  // namespace sinter
