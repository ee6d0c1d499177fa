// Array and PinnedArray: device and host memory with a dtype and a shape.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sinter/device.h"
#include "sinter/dtype.h"
#include "sinter/shape.h"

namespace sinter {

struct ArrayData;     // internal
struct PinnedMemory;  // internal

/// Device memory with a dtype, a shape and strides. A handle that shares ownership of the memory,
/// usable from any thread. The last handle releases the memory.
class Array {
 public:
  /// Wraps device memory that the caller owns and that must outlive all work on it. `strides` are
  /// in elements; without them the array is row-major. The pointer must be aligned to the element
  /// size; 16-byte alignment is fastest. The first run with the array checks that the device knows
  /// the memory and that it is large enough. Throws UserError if shape or strides are invalid.
  static Array wrap(void* pointer, DType dtype, Sizes shape, Device device = default_device(),
                    Sizes strides = {});

  DType dtype() const;
  std::span<const std::int64_t> shape() const;
  std::span<const std::int64_t> strides() const;  ///< in elements
  int rank() const { return static_cast<int>(shape().size()); }
  std::int64_t elements() const;
  /// The bytes from the start of the first element to the end of the last one.
  std::int64_t bytes() const;
  bool is_row_major() const;
  /// The address of the first element. Waits for work of the memory's previous owner. Releasing
  /// the memory later waits for the device, because sinter cannot track how the caller uses it.
  void* pointer() const;
  Device device() const;
  /// True if runs and copies must not write the array; they throw UserError.
  bool is_read_only() const;
  /// A handle to the same elements that is read-only.
  Array read_only() const;

  /// An array in part of the same memory, starting at `byte_offset`. It shares ownership, and is
  /// read-only if this array is. Throws UserError if it does not fit into this array.
  Array view(std::int64_t byte_offset, DType dtype, Sizes shape, Sizes strides = {}) const;

  const ArrayData& data() const { return *data_; }

 private:
  friend class Device;
  friend Array array_of(std::shared_ptr<const ArrayData> data);
  explicit Array(std::shared_ptr<const ArrayData> data) : data_(std::move(data)) {}

  std::shared_ptr<const ArrayData> data_;
};

/// Row-major page-locked host memory, so that copies run asynchronously. A handle with shared
/// ownership.
class PinnedArray {
 public:
  DType dtype() const;
  std::span<const std::int64_t> shape() const;
  std::int64_t elements() const;
  std::int64_t bytes() const;
  void* pointer() const;
  /// The elements as a span. Throws UserError if `Element` does not have the size of the dtype.
  template <class Element>
  std::span<Element> elements_as() const {
    check_element_bytes(sizeof(Element));
    return {static_cast<Element*>(pointer()), static_cast<std::size_t>(elements())};
  }

 private:
  friend class Device;
  explicit PinnedArray(std::shared_ptr<const PinnedMemory> memory) : memory_(std::move(memory)) {}
  void check_element_bytes(std::size_t bytes) const;

  std::shared_ptr<const PinnedMemory> memory_;
};

}  // namespace sinter
