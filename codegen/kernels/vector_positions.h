// VectorPositions: the positions of the vectors of a pointwise kernel, and where they end.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

class VectorPositions {
 public:
  explicit VectorPositions(KernelWriter& writer);

  /// The number of elements of the iteration space. For CPUs, rows are padded to whole vectors.
  Extent size() const { return size_; }
  /// The same as an expression.
  const std::string& size_text() const { return size_text_; }
  /// True if the last vector may be incomplete.
  bool may_end() const { return may_end_; }
  /// True if blocks of `per_block` elements may cover more than the iteration space.
  bool may_be_outside(std::int64_t per_block) const;
  /// Declares the position of the vector that starts at element `first`, and `count` if the vector
  /// may be incomplete. With `is_whole`, it is not.
  Tile declare_tile(const std::string& first, bool is_whole) const;

 private:
  void declare_position(const std::string& first) const;

  KernelWriter& writer_;
  Extent size_;
  std::string size_text_;
  bool may_end_ = false;
  bool is_known_ = false;
  bool is_padded_ = false;  ///< the last vector of each row may be incomplete
};

}  // namespace sinter
