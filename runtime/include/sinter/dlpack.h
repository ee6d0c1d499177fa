// DLPack: shares Arrays with other libraries (NumPy, PyTorch, JAX, CuPy …) without copying.
//
// The structs are those of <dlpack/dlpack.h> 1.1 under sinter's names, so no other header is
// needed. The types of that header work too, if it is included:
// `from_dlpack(a DLManagedTensor*)`, `to_dlpack<DLManagedTensorVersioned>(array)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sinter/array.h"
#include "sinter/device.h"

namespace sinter {

namespace dlpack {

/// The kind of memory. from_dlpack() accepts these and refuses all others.
enum class DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

struct Device {
  DeviceType type;
  std::int32_t id;  ///< index among devices of the type
};

/// The type of an element: its code (`DLDataTypeCode`), bits, and number of lanes (1 in sinter).
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

/// The struct before DLPack 1.0, in capsules called `dltensor`. It cannot mark memory as
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

/// The struct since DLPack 1.0, in capsules called `dltensor_versioned`.
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);  ///< may be null
  std::uint64_t flags;
  Tensor dl_tensor;
};

/// The version that to_dlpack() writes. from_dlpack() reads every minor version of this major
/// version.
inline constexpr Version kVersion = {1, 1};
/// Bits of `ManagedTensorVersioned::flags`.
inline constexpr std::uint64_t kReadOnly = 1;
inline constexpr std::uint64_t kCopied = 2;

/// True for ManagedTensor and for other declarations of the same struct.
template <class T>
concept Unversioned = sizeof(T) == sizeof(ManagedTensor) && requires(T& tensor) {
  tensor.dl_tensor.byte_offset;
  tensor.manager_ctx;
  tensor.deleter(&tensor);
}
&&!requires(T & tensor) { tensor.version; };

/// True for ManagedTensorVersioned and for other declarations of the same struct.
template <class T>
concept Versioned = sizeof(T) == sizeof(ManagedTensorVersioned) && requires(T& tensor) {
  tensor.dl_tensor.byte_offset;
  tensor.version.major;
  tensor.flags;
  tensor.deleter(&tensor);
};

}  // namespace dlpack

/// Returns an Array in the memory of `tensor`, without copying. A caller that takes the tensor from
/// a Python capsule must first rename the capsule to `used_…`.
///
/// The call takes ownership of `tensor` and calls its deleter exactly once. If this throws, the
/// deleter runs before the exception leaves the call. Otherwise it runs on the thread that releases
/// the last Array or view of the memory, after all work that is queued on the device. If a stream
/// of the device is being captured at that time, the next Device::synchronize runs it instead.
///
/// Without `device`, CPU memory belongs to the host device, and CUDA and managed memory to the GPU
/// that the tensor names. Pinned memory belongs to the default device. A CUDA device also accepts
/// pinned and managed memory. The caller must order pending writes of the producer before the use
/// of the Array, as Python's `__dlpack__(stream=…)` does.
///
/// Throws UserError, with the values and the remedy, if the dtype is not one of sinter's or has
/// several lanes. The same holds for a negative stride along an axis of more than one element. The
/// same holds for a null or misaligned pointer, memory of another device, an invalid shape, and
/// another major version. Throws DriverError if the tensor is in CUDA memory and there is no GPU.
Array from_dlpack(dlpack::ManagedTensor* tensor, std::optional<Device> device = {});
/// The same for the versioned struct. The Array is read-only if the flags say so.
Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, std::optional<Device> device = {});

template <dlpack::Unversioned Foreign>
Array from_dlpack(Foreign* tensor, std::optional<Device> device = {}) {
  return from_dlpack(reinterpret_cast<dlpack::ManagedTensor*>(tensor), device);
}
template <dlpack::Versioned Foreign>
Array from_dlpack(Foreign* tensor, std::optional<Device> device = {}) {
  return from_dlpack(reinterpret_cast<dlpack::ManagedTensorVersioned*>(tensor), device);
}

/// Shares the memory of `array` with another library, without copying. The result keeps the memory
/// alive until its deleter is called, once, on any thread. Wrapped memory is an exception: its
/// owner must keep it alive. Strides are always written, and `byte_offset` is 0, since many readers
/// ignore it.
///
/// CPU readers have no stream. If the CPU can read the memory (host device, pinned, managed), this
/// call therefore waits for all work on the device. For memory of a GPU, the reader's stream must
/// wait for the stream that writes it. Throws DriverError if waiting fails.
dlpack::ManagedTensorVersioned* to_dlpack(const Array& array);
/// The same as the struct before DLPack 1.0. Throws UserError if the array is read-only, because
/// that struct cannot say so.
dlpack::ManagedTensor* to_dlpack_unversioned(const Array& array);

template <dlpack::Versioned Foreign>
Foreign* to_dlpack(const Array& array) {
  return reinterpret_cast<Foreign*>(to_dlpack(array));
}
template <dlpack::Unversioned Foreign>
Foreign* to_dlpack(const Array& array) {
  return reinterpret_cast<Foreign*>(to_dlpack_unversioned(array));
}

// DLPack fixes this layout for all libraries.
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
