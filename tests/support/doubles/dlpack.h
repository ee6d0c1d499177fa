// The structs of <dlpack/dlpack.h> 1.1 under their own names, for programs that include that header
// and ours. Also a producer of such tensors that counts deletions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

extern "C" {
typedef struct {
  std::uint32_t major;
  std::uint32_t minor;
} DLPackVersion;

typedef enum : std::int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLROCM = 10,
  kDLCUDAManaged = 13,
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  std::int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e5m2 = 12U,
} DLDataTypeCode;

typedef struct {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
}

namespace sinter::test {

/// The description of a tensor. The default is three floats.
struct ForeignTensor {
  void* data = nullptr;
  std::vector<std::int64_t> shape = {3};
  std::vector<std::int64_t> strides = {};  ///< none: a null pointer
  DLDataType dtype = {kDLFloat, 32, 1};
  DLDevice device = {kDLCPU, 0};
  std::uint64_t byte_offset = 0;
  std::uint64_t flags = 0;
  DLPackVersion version = {1, 0};
};

/// A managed tensor as another library creates it. Its deleter adds one to `deleted`.
template <class Managed>
Managed* make_foreign(const ForeignTensor& what, std::atomic<int>& deleted) {
  struct Owner {
    ForeignTensor what;
    Managed managed{};
    std::atomic<int>* deleted;
  };
  auto* const owner = new Owner{.what = what, .deleted = &deleted};
  Managed& managed = owner->managed;
  managed.dl_tensor = {.data = what.data,
                       .device = what.device,
                       .ndim = static_cast<std::int32_t>(what.shape.size()),
                       .dtype = what.dtype,
                       .shape = what.shape.empty() ? nullptr : owner->what.shape.data(),
                       .strides = what.strides.empty() ? nullptr : owner->what.strides.data(),
                       .byte_offset = what.byte_offset};
  managed.manager_ctx = owner;
  managed.deleter = [](Managed* self) {
    const std::unique_ptr<Owner> released(static_cast<Owner*>(self->manager_ctx));
    ++*released->deleted;
  };
  if constexpr (requires { managed.version; }) {
    managed.version = what.version;
    managed.flags = what.flags;
  }
  return &managed;
}

}  // namespace sinter::test
