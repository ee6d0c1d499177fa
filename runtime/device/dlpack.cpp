// DLPack import and export: converts its structs to Arrays, and Arrays to its structs.
#include "sinter/dlpack.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/external_memory.h"
#include "sinter/error.h"

namespace sinter {

namespace {

enum Code : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3Fn = 10,
  kFloat8E5M2 = 12
};

/// DLPack's names of type codes, by code.
constexpr std::string_view kCodeNames[] = {"int",
                                           "uint",
                                           "float",
                                           "opaque_handle",
                                           "bfloat",
                                           "complex",
                                           "bool",
                                           "float8_e3m4",
                                           "float8_e4m3",
                                           "float8_e4m3b11fnuz",
                                           "float8_e4m3fn",
                                           "float8_e4m3fnuz",
                                           "float8_e5m2",
                                           "float8_e5m2fnuz",
                                           "float8_e8m0fnu",
                                           "float6_e2m3fn",
                                           "float6_e3m2fn",
                                           "float4_e2m1fn"};

std::uint8_t type_code(DType dtype) {
  switch (dtype) {
    case boolean: return kBool;
    case f8e4m3: return kFloat8E4M3Fn;
    case f8e5m2: return kFloat8E5M2;
    case bf16: return kBfloat;
    case c64: return kComplex;
    default: break;
  }
  return is_floating(dtype) ? kFloat : is_unsigned(dtype) ? kUInt : kInt;
}

dlpack::DataType data_type_of(DType dtype) {
  return {
      .code = type_code(dtype), .bits = static_cast<std::uint8_t>(8 * size_of(dtype)), .lanes = 1};
}

DType dtype_of(const dlpack::DataType& type) {
  const auto is_it = [&](const DTypeInfo& row) {
    const dlpack::DataType ours = data_type_of(row.dtype);
    return ours.code == type.code && ours.bits == type.bits;
  };
  const auto* const row = std::ranges::find_if(kDTypes, is_it);
  const std::string code = type.code < std::size(kCodeNames) ? std::string(kCodeNames[type.code])
                                                             : fmt::format("code {}", type.code);
  if (row == std::end(kDTypes)) {
    std::vector<std::string_view> names;
    for (const DTypeInfo& each : kDTypes) names.push_back(each.name);
    throw UserError(
        fmt::format("from_dlpack: elements of {} with {} bits have no sinter dtype; cast them to "
                    "one of {} first",
                    code, type.bits, fmt::join(names, " ")));
  }
  if (type.lanes != 1)
    throw UserError(
        fmt::format("from_dlpack: elements of {} with {} bits in {} lanes; pass a tensor of 1 "
                    "lane, with one more axis of {}",
                    code, type.bits, type.lanes, type.lanes));
  return row->dtype;
}

std::string device_text(const dlpack::Device& device) {
  switch (device.type) {
    case dlpack::DeviceType::cpu: return "in CPU memory";
    case dlpack::DeviceType::cuda: return fmt::format("on CUDA device {}", device.id);
    case dlpack::DeviceType::cuda_host: return "in CUDA pinned memory";
    case dlpack::DeviceType::cuda_managed: return "in CUDA managed memory";
  }
  return fmt::format("on device {} of DLPack's type {}", device.id, static_cast<int>(device.type));
}

/// The device to use the memory on: `requested`, or that of the tensor. Throws UserError if
/// `requested` cannot access the memory.
Device device_for(const dlpack::Device& tensor_device, std::optional<Device> requested) {
  const auto refuse = [&](std::string_view advice) {
    const std::string on =
        requested ? fmt::format(", but requested on {}{}", requested->name(),
                                requested->is_host()
                                    ? ""
                                    : fmt::format(" (CUDA device {})", requested->ordinal()))
                  : "";
    throw UserError(
        fmt::format("from_dlpack: the tensor is {}{}; {}", device_text(tensor_device), on, advice));
  };
  if (requested && requested->is_host() && requested->ordinal() != 0)
    refuse("wrapped CPU memory belongs to the first host device; use host_device()");
  switch (tensor_device.type) {
    case dlpack::DeviceType::cpu:
      if (requested && !requested->is_host())
        refuse("upload it with Device::upload, or use host_device()");
      return host_device();
    case dlpack::DeviceType::cuda:
      if (!requested) return cuda_device(tensor_device.id);
      if (requested->is_host()) refuse("copy it to the CPU first, or leave the device out");
      if (requested->ordinal() != tensor_device.id)
        refuse(fmt::format("copy it there first, or use cuda_device({})", tensor_device.id));
      return *requested;
    case dlpack::DeviceType::cuda_host: return requested.value_or(default_device());
    case dlpack::DeviceType::cuda_managed:
      if (!requested) return cuda_device(tensor_device.id);
      if (requested->is_host()) refuse("copy it to the CPU first: a GPU may still write there");
      return *requested;
  }
  refuse("copy it to the CPU or a CUDA device first");
  return host_device();
}

std::span<const std::int64_t> shape_of(const dlpack::Tensor& tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    throw UserError(
        fmt::format("from_dlpack: a tensor of {} axes with {} shape; pass one with a valid "
                    "shape",
                    tensor.ndim, tensor.shape ? "a" : "no"));
  return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}

/// The strides in elements; empty: row-major. DLPack allows any number along an axis of one element
/// and in an empty tensor. Such a stride has no meaning; a negative one is replaced.
std::vector<std::int64_t> strides_of(const dlpack::Tensor& tensor, DType dtype,
                                     std::span<const std::int64_t> shape) {
  if (!tensor.strides) return {};
  std::vector<std::int64_t> strides(tensor.strides, tensor.strides + shape.size());
  const bool is_empty = std::ranges::count(shape, 0) > 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] >= 0) continue;
    if (shape[i] > 1 && !is_empty)
      throw UserError(
          fmt::format("from_dlpack: {}{} has strides {} (in elements), and {} along axis {} is "
                      "negative; copy it into a tensor with positive strides first",
                      name(dtype), to_string(shape), to_string(strides), strides[i], i));
    strides[i] = 1;
  }
  return strides;
}

CUdeviceptr pointer_of(const dlpack::Tensor& tensor, const ArrayData& array) {
  const auto data = reinterpret_cast<CUdeviceptr>(tensor.data);
  const CUdeviceptr pointer = data + tensor.byte_offset;
  if (array.elements == 0) return pointer;
  if (!tensor.data)
    throw UserError(fmt::format("from_dlpack: {} at a null pointer; pass memory of {} bytes",
                                type_text(array), array.bytes));
  const auto element_bytes = static_cast<CUdeviceptr>(size_of(array.dtype));
  if (pointer % element_bytes != 0)
    throw UserError(
        fmt::format("from_dlpack: {} at {:#x} (byte {} of {:#x}), which is not a multiple of the "
                    "{} bytes of an element; copy it to an aligned address first",
                    type_text(array), pointer, tensor.byte_offset, data, element_bytes));
  CUdeviceptr end = 0;
  if (pointer < data ||
      __builtin_add_overflow(pointer, static_cast<CUdeviceptr>(array.bytes), &end))
    throw UserError(fmt::format(
        "from_dlpack: {} at byte {} of {:#x} ends beyond the last address; its shape or offset is "
        "wrong",
        type_text(array), tensor.byte_offset, data));
  return pointer;
}

Array import(const dlpack::Tensor& tensor, bool is_read_only, std::optional<Device> requested,
             ManagedTensorOwner owner) {
  const DType dtype = dtype_of(tensor.dtype);
  const Device device = device_for(tensor.device, requested);
  const std::span<const std::int64_t> shape = shape_of(tensor);
  const auto data = make_array_data("from_dlpack", device.state(), /*pointer=*/0, dtype, shape,
                                    strides_of(tensor, dtype, shape));
  data->pointer = pointer_of(tensor, *data);
  data->is_read_only = is_read_only;
  data->external =
      share_external(*device.state(), data->pointer, data->bytes, tensor.device, std::move(owner));
  return array_of(data);
}

template <class Managed>
ManagedTensorOwner take_ownership(Managed* tensor) {
  if (!tensor) throw UserError("from_dlpack: the tensor is null; pass the tensor of a producer");
  return {tensor, [](void* managed) {
            auto* const self = static_cast<Managed*>(managed);
            if (self->deleter) self->deleter(self);
          }};
}

/// An exported tensor and the memory that it refers to, until the reader calls the deleter.
template <class Managed>
struct ExportedTensor {
  Managed managed{};
  Array array;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

dlpack::Device dlpack_device(const ArrayData& array) {
  if (array.external) return array.external->producer_device;
  if (array.device->is_host) return {dlpack::DeviceType::cpu, 0};
  return {dlpack::DeviceType::cuda, array.device->ordinal};
}

template <class Managed>
Managed* export_tensor(const Array& array) {
  const ArrayData& data = array.data();
  // A reader on the CPU has no stream to wait on.
  if (dlpack_device(data).type != dlpack::DeviceType::cuda && data.elements > 0)
    array.device().synchronize();
  auto exported = std::make_unique<ExportedTensor<Managed>>(
      ExportedTensor<Managed>{.array = array, .shape = data.shape, .strides = data.strides});
  Managed& managed = exported->managed;
  managed.dl_tensor = {.data = array.pointer(),
                       .device = dlpack_device(data),
                       .ndim = array.rank(),
                       .dtype = data_type_of(data.dtype),
                       .shape = exported->shape.data(),
                       .strides = exported->strides.data(),
                       .byte_offset = 0};
  managed.manager_ctx = exported.get();
  managed.deleter = [](Managed* self) {
    delete static_cast<ExportedTensor<Managed>*>(self->manager_ctx);
  };
  return &exported.release()->managed;
}

}  // namespace

Array from_dlpack(dlpack::ManagedTensor* tensor, std::optional<Device> device) {
  ManagedTensorOwner owner = take_ownership(tensor);
  return import(tensor->dl_tensor, /*is_read_only=*/false, device, std::move(owner));
}

Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, std::optional<Device> device) {
  ManagedTensorOwner owner = take_ownership(tensor);
  // In another major version, all fields but the deleter may have other offsets.
  if (tensor->version.major != dlpack::kVersion.major)
    throw UserError(
        fmt::format("from_dlpack: the tensor has DLPack {}.{}, but sinter reads {}.x; request "
                    "max_version=({}, {}) from its producer",
                    tensor->version.major, tensor->version.minor, dlpack::kVersion.major,
                    dlpack::kVersion.major, dlpack::kVersion.minor));
  const bool is_read_only = (tensor->flags & dlpack::kReadOnly) != 0;
  return import(tensor->dl_tensor, is_read_only, device, std::move(owner));
}

dlpack::ManagedTensorVersioned* to_dlpack(const Array& array) {
  auto* const tensor = export_tensor<dlpack::ManagedTensorVersioned>(array);
  tensor->version = dlpack::kVersion;
  tensor->flags = array.is_read_only() ? dlpack::kReadOnly : 0;
  return tensor;
}

dlpack::ManagedTensor* to_dlpack_unversioned(const Array& array) {
  if (array.is_read_only())
    throw UserError(
        fmt::format("to_dlpack_unversioned: {} is read-only, but the struct before DLPack 1.0 has "
                    "no such flag; use to_dlpack, or pass a copy",
                    type_text(array.data())));
  return export_tensor<dlpack::ManagedTensor>(array);
}

}  // namespace sinter
