// Iterates over the elements of a shape and tracks the offsets into strided arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

/// An iterator over the indices of a shape in row-major order. It updates the offset
/// Σ index · stride for each set of strides.
class StridedIterator {
 public:
  StridedIterator(std::span<const std::int64_t> shape,
                  std::vector<std::vector<std::int64_t>> strides)
      : shape_(shape.begin(), shape.end()),
        index_(shape.size()),
        strides_(std::move(strides)),
        offsets_(strides_.size()) {}

  std::span<const std::int64_t> index() const { return index_; }
  std::int64_t offset(std::size_t which) const { return offsets_[which]; }

  /// Moves to element `number` of the row-major order, which must exist.
  void seek(std::int64_t number) {
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      index_[axis] = number % shape_[axis];
      number /= shape_[axis];
    }
    for (std::size_t which = 0; which < strides_.size(); ++which) {
      offsets_[which] = 0;
      for (std::size_t axis = 0; axis < shape_.size(); ++axis)
        offsets_[which] += index_[axis] * strides_[which][axis];
    }
  }

  /// Moves to the next element; from the last element to the first.
  void next() {
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      const bool carry = ++index_[axis] == shape_[axis];
      const std::int64_t steps = carry ? 1 - shape_[axis] : 1;
      if (carry) index_[axis] = 0;
      for (std::size_t which = 0; which < strides_.size(); ++which)
        offsets_[which] += steps * strides_[which][axis];
      if (!carry) return;
    }
  }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> index_;
  std::vector<std::vector<std::int64_t>> strides_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace sinter
