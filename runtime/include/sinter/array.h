// Array and PinnedArray: memory with a dtype and a shape, which compiled graphs read and write.
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

/// Device memory with a dtype, a shape and strides: a handle with shared ownership of the memory,
/// usable from any thread. The memory is given back with the last handle to it.
class Array {
 public:
  /// Memory that belongs to somebody else and must outlive all work on it. `strides` in elements;
  /// none: row-major. Any alignment that suits the dtype will do; 16 bytes are fastest. The first
  /// run that it is bound to checks that the device knows the memory and that it is large enough.
  static Array wrap(void* pointer, DType dtype, Sizes shape, Device device = default_device(),
                    Sizes strides = {});

  DType dtype() const;
  std::span<const std::int64_t> shape() const;
  std::span<const std::int64_t> strides() const;  ///< in elements
  int rank() const { return static_cast<int>(shape().size()); }
  std::int64_t elements() const;
  /// Bytes from the first to the end of the last element.
  std::int64_t bytes() const;
  bool is_row_major() const;
  void* pointer() const;  ///< from now on others may use the memory: giving it back waits for them
  Device device() const;
  /// True where nothing may write: runs and copies refuse to.
  bool is_read_only() const;
  /// The same elements, which nothing may write through this handle.
  Array read_only() const;

  /// Another shape for part of the same memory, from `byte_offset` on; it shares the ownership,
  /// and is read-only if this is. Throws UserError where it does not fit.
  Array view(std::int64_t byte_offset, DType dtype, Sizes shape, Sizes strides = {}) const;

  const ArrayData& data() const { return *data_; }

 private:
  friend class Device;
  friend Array array_of(std::shared_ptr<const ArrayData> data);
  explicit Array(std::shared_ptr<const ArrayData> data) : data_(std::move(data)) {}

  std::shared_ptr<const ArrayData> data_;
};

/// Row-major host memory that the device can copy from and to while the host goes on: a handle with
/// shared ownership.
class PinnedArray {
 public:
  DType dtype() const;
  std::span<const std::int64_t> shape() const;
  std::int64_t elements() const;
  std::int64_t bytes() const;
  void* pointer() const;
  /// The elements as `Element`, whose size must be that of the dtype.
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
