// DLPack: Arrays from and for other libraries (NumPy, PyTorch, JAX, CuPy …) without copying.
//
// The structs are those of <dlpack/dlpack.h> 1.1, declared here under names of our own, so that no
// other header is needed; where that one is included too, its types may be used in their place:
// `from_dlpack(a DLManagedTensor*)`, `to_dlpack<DLManagedTensorVersioned>(array)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sinter/array.h"
#include "sinter/device.h"

namespace sinter {

namespace dlpack {

/// Where memory lies. The ones that sinter takes; others are refused with their number.
enum class DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

struct Device {
  DeviceType type;
  std::int32_t id;  ///< ordinal among devices of the type
};

/// One element: what it is (`DLDataTypeCode`), its bits, and how many make up one (1 for ours).
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;        ///< [ndim]
  std::int64_t* strides;      ///< [ndim], in elements; null: row-major
  std::uint64_t byte_offset;  ///< from `data` to the first element
};

/// The struct of before DLPack 1.0, in capsules called `dltensor`. It cannot say that memory is
/// read-only.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);  ///< may be null
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

/// The struct from DLPack 1.0 on, in capsules called `dltensor_versioned`.
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);  ///< may be null
  std::uint64_t flags;
  Tensor dl_tensor;
};

/// What to_dlpack() writes. Another minor version is read as well, another major one refused.
inline constexpr Version kVersion = {1, 1};
/// Bits of `ManagedTensorVersioned::flags`.
inline constexpr std::uint64_t kReadOnly = 1;
inline constexpr std::uint64_t kCopied = 2;

/// True of ManagedTensor and of others' declarations of it.
template <class T>
concept Unversioned = sizeof(T) == sizeof(ManagedTensor) && requires(T& tensor) {
  tensor.dl_tensor.byte_offset;
  tensor.manager_ctx;
  tensor.deleter(&tensor);
}
&&!requires(T & tensor) { tensor.version; };

/// True of ManagedTensorVersioned and of others' declarations of it.
template <class T>
concept Versioned = sizeof(T) == sizeof(ManagedTensorVersioned) && requires(T& tensor) {
  tensor.dl_tensor.byte_offset;
  tensor.version.major;
  tensor.flags;
  tensor.deleter(&tensor);
};

}  // namespace dlpack

/// An Array in the memory of `tensor`, which belongs to sinter from the call on: its deleter is
/// called exactly once, on the thread that lets go of the last Array or view in it, after all work
/// on the device that was queued until then; or before this throws. (Who takes it from a Python
/// capsule renames the capsule to `used_…` first.) Nothing is copied.
///
/// Without `device`: CPU memory is the host device's, CUDA memory that of the GPU it names, pinned
/// memory the default device's. CUDA devices take pinned and managed memory too. What the producer
/// still has to write must be ordered before its use here by the caller, as Python's
/// `__dlpack__(stream=…)` does.
///
/// Throws UserError, with the values and what to do, for dtypes that are none of ours, several
/// lanes, strides below 0 along more than one element, a pointer that is null or no multiple of
/// the element, memory of another device, a shape that cannot be, and another major version;
/// DriverError where CUDA memory is named and there is no GPU.
Array from_dlpack(dlpack::ManagedTensor* tensor, std::optional<Device> device = {});
/// The same, and the Array is read-only where the flags say so.
Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, std::optional<Device> device = {});

template <dlpack::Unversioned Foreign>
Array from_dlpack(Foreign* tensor, std::optional<Device> device = {}) {
  return from_dlpack(reinterpret_cast<dlpack::ManagedTensor*>(tensor), device);
}
template <dlpack::Versioned Foreign>
Array from_dlpack(Foreign* tensor, std::optional<Device> device = {}) {
  return from_dlpack(reinterpret_cast<dlpack::ManagedTensorVersioned*>(tensor), device);
}

/// Shares the memory of `array` with whoever takes the result, and keeps it alive (unless it was
/// wrapped: its owner does) until they call the deleter, once, on any thread. Nothing is copied;
/// strides are always written, and `byte_offset` is 0, since many readers overlook it. Arrays of
/// the host device are CPU memory, for which this call waits for all work that was queued before:
/// nobody else can. On a GPU the reader's stream has to wait for ours. Throws DriverError where
/// waiting fails.
dlpack::ManagedTensorVersioned* to_dlpack(const Array& array);
/// The same as the struct of before 1.0. Throws UserError if the array is read-only, which that
/// cannot say.
dlpack::ManagedTensor* to_dlpack_unversioned(const Array& array);

template <dlpack::Versioned Foreign>
Foreign* to_dlpack(const Array& array) {
  return reinterpret_cast<Foreign*>(to_dlpack(array));
}
template <dlpack::Unversioned Foreign>
Foreign* to_dlpack(const Array& array) {
  return reinterpret_cast<Foreign*>(to_dlpack_unversioned(array));
}

// The layout is an agreement between libraries.
static_assert(sizeof(void*) == 8);
static_assert(sizeof(dlpack::DataType) == 4 && sizeof(dlpack::Device) == 8);
static_assert(offsetof(dlpack::Tensor, device) == 8 && offsetof(dlpack::Tensor, ndim) == 16 &&
              offsetof(dlpack::Tensor, dtype) == 20 && offsetof(dlpack::Tensor, shape) == 24 &&
              offsetof(dlpack::Tensor, strides) == 32 &&
              offsetof(dlpack::Tensor, byte_offset) == 40 && sizeof(dlpack::Tensor) == 48);
static_assert(offsetof(dlpack::ManagedTensor, manager_ctx) == 48 &&
              offsetof(dlpack::ManagedTensor, deleter) == 56 &&
              sizeof(dlpack::ManagedTensor) == 64);
static_assert(offsetof(dlpack::ManagedTensorVersioned, manager_ctx) == 8 &&
              offsetof(dlpack::ManagedTensorVersioned, deleter) == 16 &&
              offsetof(dlpack::ManagedTensorVersioned, flags) == 24 &&
              offsetof(dlpack::ManagedTensorVersioned, dl_tensor) == 32 &&
              sizeof(dlpack::ManagedTensorVersioned) == 80);

}  // namespace sinter
