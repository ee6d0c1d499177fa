// Owners of oneDNN's objects. Functions that create them return an empty owner if the library does
// not support what is asked, and throw DriverError if it fails.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "runtime/libraries/onednn/onednn.h"

namespace sinter {

/// Owns a handle that `destroy` of the library's table releases.
template <class Handle, auto destroy>
class OneDnnObject {
 public:
  explicit OneDnnObject(const OneDnn& library) : library_(&library) {}
  OneDnnObject(OneDnnObject&& other) noexcept
      : library_(other.library_), handle_(std::exchange(other.handle_, nullptr)) {}
  OneDnnObject& operator=(OneDnnObject&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~OneDnnObject() {
    if (handle_) (library_->table.*destroy)(handle_);
  }

  Handle get() const { return handle_; }
  Handle* place() { return &handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  const OneDnn* library_;
  Handle handle_ = nullptr;
};

using OneDnnAttributes =
    OneDnnObject<dnnl::dnnl_primitive_attr_t, &dnnl::Table::dnnl_primitive_attr_destroy>;
using OneDnnDescription =
    OneDnnObject<dnnl::dnnl_primitive_desc_t, &dnnl::Table::dnnl_primitive_desc_destroy>;
using OneDnnStream = OneDnnObject<dnnl::dnnl_stream_t, &dnnl::Table::dnnl_stream_destroy>;
using OneDnnMemory = OneDnnObject<dnnl::dnnl_memory_t, &dnnl::Table::dnnl_memory_destroy>;
using OneDnnPrimitive = OneDnnObject<dnnl::dnnl_primitive_t, &dnnl::Table::dnnl_primitive_destroy>;

/// A layout of f32 elements.
class OneDnnLayout {
 public:
  using Lengths = std::span<const std::int64_t>;

  static OneDnnLayout with_strides(const OneDnn& library, Lengths extents, Lengths strides);
  /// The layout that a primitive likes best.
  static OneDnnLayout any(const OneDnn& library, Lengths extents);

  OneDnnLayout(OneDnnLayout&& other) noexcept = default;
  OneDnnLayout& operator=(OneDnnLayout&& other) noexcept = default;

  dnnl::dnnl_any_memory_desc_t get() const { return storage_ ? storage_.get() : handle_.get(); }

 private:
  using Handle = OneDnnObject<void*, &dnnl::Table::dnnl_memory_desc_destroy>;
  explicit OneDnnLayout(const OneDnn& library) : handle_(library) {}

  std::unique_ptr<dnnl::dnnl_memory_desc_storage> storage_;  ///< in version 2
  Handle handle_;                                            ///< in version 3
};

/// Primitives take their scratchpad from the caller, and round no operand to a smaller type.
OneDnnAttributes onednn_attributes(const OneDnn& library);

/// A primitive with its description.
class OneDnnOperation {
 public:
  explicit OneDnnOperation(const OneDnn& library)
      : library_(&library), description_(library), primitive_(library) {}
  OneDnnOperation(const OneDnn& library, OneDnnDescription description);

  explicit operator bool() const { return static_cast<bool>(primitive_); }
  const OneDnnDescription& description() const { return description_; }
  /// The layout of an argument, which lives as long as this object.
  dnnl::dnnl_any_memory_desc_t layout(dnnl::dnnl_query_t argument) const;
  std::int64_t scratchpad_bytes() const;
  std::string implementation() const;  ///< `jit:avx512_core`

  /// One argument and its memory.
  struct Argument {
    int number = 0;
    dnnl::dnnl_any_memory_desc_t layout = nullptr;
    void* data = nullptr;
  };
  /// Runs the primitive with two or three arguments on the calling thread.
  void run(std::span<const Argument> arguments, void* scratchpad) const;

 private:
  const OneDnn* library_;
  OneDnnDescription description_;
  OneDnnPrimitive primitive_;
};

/// Copies between layouts of the same extents.
OneDnnOperation onednn_reorder(const OneDnn& library, dnnl::dnnl_any_memory_desc_t from,
                               dnnl::dnnl_any_memory_desc_t to);

}  // namespace sinter
