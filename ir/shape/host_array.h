// Arrays in host memory, typed at run time: what the oracle, random inputs and checks work on.
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

/// Elements of a dtype under a shape and strides. Padding between elements is part of the storage.
class HostArray {
 public:
  HostArray() = default;
  /// Zeros. `strides` in elements, none negative; empty: row-major.
  HostArray(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {});
  /// Row-major, from values in row-major order, each rounded (or wrapped) to `dtype`.
  static HostArray of(DType dtype, std::vector<std::int64_t> shape, std::span<const double> values);
  static HostArray of_integers(DType dtype, std::vector<std::int64_t> shape,
                               std::span<const std::int64_t> values);

  DType dtype() const { return dtype_; }
  std::span<const std::int64_t> shape() const { return shape_; }
  std::span<const std::int64_t> strides() const { return strides_; }
  /// Elements that have an index.
  std::int64_t size() const { return size_; }
  bool is_row_major() const;
  /// The whole storage, padding included.
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// The place in the storage of the element at `index`, in elements.
  std::int64_t offset(std::span<const std::int64_t> index) const;

  /// The element at a place in the storage; any dtype as a real (bool as 0 or 1) …
  double real_at(std::int64_t offset) const;
  /// … and integers and bool exactly, those of u64 as their 64 bits (`from_stored`).
  std::int64_t integer_at(std::int64_t offset) const;
  /// Stores `value`, rounded to the dtype. Of floating arrays.
  void set_real_at(std::int64_t offset, long double value);
  /// Stores `value`, wrapped to the dtype. Of integer and bool arrays.
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

/// Arrays by the name of the input or output.
using HostArrays = std::map<std::string, HostArray, std::less<>>;

/// Row-major strides of a shape of numbers.
std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape);
/// The number of elements of a shape of numbers.
std::int64_t element_count(std::span<const std::int64_t> shape);
/// The multi-index of element `number` in row-major order.
std::vector<std::int64_t> index_of(std::span<const std::int64_t> shape, std::int64_t number);

/// The first index at which `a` and `b` differ in bits, two NaNs counting as equal; nullopt if none
/// does. Strides may differ; dtype and shape must agree.
std::optional<std::vector<std::int64_t>> first_difference(const HostArray& a, const HostArray& b);
inline bool equal_bits(const HostArray& a, const HostArray& b) {
  return !first_difference(a, b).has_value();
}

}  // namespace sinter
