// Arrays in host memory with a dtype known at run time. The oracle, random inputs and checks use
// them.
#pragma once

#include "sinter/dtype.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter {

/// An array with a dtype, a shape and strides. Gaps between elements are part of the storage.
class HostArray {
 public:
  HostArray() = default;
  /// All zeros. `strides` are in elements and not negative; empty means row-major. Throws UserError
  /// if the shape has more than 2^63 - 1 elements.
  HostArray(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {});

  DType dtype() const { return dtype_; }
  std::span<const std::int64_t> shape() const { return shape_; }
  std::span<const std::int64_t> strides() const { return strides_; }
  /// The number of elements, gaps not counted.
  std::int64_t size() const { return size_; }
  /// The whole storage, gaps included.
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// The storage offset, in elements, of the element at `index`.
  std::int64_t offset(std::span<const std::int64_t> index) const;

  /// The element at a storage offset as a real; any dtype, bool as 0 or 1.
  double real_at(std::int64_t offset) const;
  /// The exact element of an integer or bool array; u64 as the same 64 bits (`from_storage_bits`).
  std::int64_t integer_at(std::int64_t offset) const;
  /// Stores `value`, rounded to the dtype, in a floating array.
  void set_real_at(std::int64_t offset, long double value);
  /// Stores `value`, wrapped to the dtype, in an integer or bool array.
  void set_integer_at(std::int64_t offset, std::int64_t value);

  double real(std::span<const std::int64_t> index) const { return real_at(offset(index)); }
  std::int64_t integer(std::span<const std::int64_t> index) const {
    return integer_at(offset(index));
  }

 private:
  DType dtype_ = DType::f32;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::int64_t size_ = 0;
  std::vector<std::byte> bytes_;
};

/// Arrays by input or output name.
using HostArrays = std::map<std::string, HostArray, std::less<>>;

/// Row-major strides of `shape`, in elements.
std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape);
/// The strides that broadcast a row-major array of shape `from` to shape `to`, as in NumPy. Shapes
/// are aligned at the right, and an axis of extent 1 has stride 0.
std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> from,
                                            std::span<const std::int64_t> to);
/// The number of elements of `shape`. Throws UserError if it exceeds 2^63 - 1.
std::int64_t element_count(std::span<const std::int64_t> shape);
/// The multi-index of element `number` in row-major order.
std::vector<std::int64_t> unravel_index(std::span<const std::int64_t> shape, std::int64_t number);

/// The first index at which the bits of `a` and `b` differ; any two NaNs are equal. nullopt if the
/// arrays are equal. Strides may differ; dtype and shape must agree.
std::optional<std::vector<std::int64_t>> first_difference(const HostArray& a, const HostArray& b);
inline bool equal_bits(const HostArray& a, const HostArray& b) {
  return !first_difference(a, b).has_value();
}

}  // namespace sinter
