// DLPack in and out: what their structs say in terms of Arrays, and the other way round.
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

/// DLPack's names of codes, by code.
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
        fmt::format("from_dlpack: elements of {} with {} bits are none of sinter's dtypes; cast "
                    "them to one of {} first",
                    code, type.bits, fmt::join(names, " ")));
  }
  if (type.lanes != 1)
    throw UserError(
        fmt::format("from_dlpack: elements of {} with {} bits in {} lanes; hand over a tensor of 1 "
                    "lane, with an axis of {} more",
                    code, type.bits, type.lanes, type.lanes));
  return row->dtype;
}

std::string place_text(const dlpack::Device& place) {
  switch (place.type) {
    case dlpack::DeviceType::cpu: return "in CPU memory";
    case dlpack::DeviceType::cuda: return fmt::format("on CUDA device {}", place.id);
    case dlpack::DeviceType::cuda_host: return "in pinned memory of CUDA";
    case dlpack::DeviceType::cuda_managed: return "in managed memory of CUDA";
  }
  return fmt::format("on device {} of DLPack's type {}", place.id, static_cast<int>(place.type));
}

/// The device that the memory is, or shall be, used on.
Device device_for(const dlpack::Device& place, std::optional<Device> asked) {
  const auto refuse = [&](std::string_view advice) {
    const std::string on =
        asked ? fmt::format(
                    ", but asked for on {}{}", asked->name(),
                    asked->is_host() ? "" : fmt::format(" (CUDA device {})", asked->ordinal()))
              : "";
    throw UserError(
        fmt::format("from_dlpack: the tensor is {}{}; {}", place_text(place), on, advice));
  };
  if (asked && asked->is_host() && asked->ordinal() != 0)
    refuse("memory of others is the first host device's; take it to host_device()");
  switch (place.type) {
    case dlpack::DeviceType::cpu:
      if (asked && !asked->is_host())
        refuse("upload it with Device::upload, or take it to host_device()");
      return host_device();
    case dlpack::DeviceType::cuda:
      if (!asked) return cuda_device(place.id);
      if (asked->is_host()) refuse("copy it to the CPU first, or leave the device out");
      if (asked->ordinal() != place.id)
        refuse(fmt::format("copy it there first, or take it to cuda_device({})", place.id));
      return *asked;
    case dlpack::DeviceType::cuda_host: return asked.value_or(default_device());
    case dlpack::DeviceType::cuda_managed:
      if (!asked) return cuda_device(place.id);
      if (asked->is_host()) refuse("copy it to the CPU first: a GPU may still write there");
      return *asked;
  }
  refuse("copy it to the CPU or a CUDA device first");
  return host_device();
}

std::span<const std::int64_t> shape_of(const dlpack::Tensor& tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    throw UserError(
        fmt::format("from_dlpack: a tensor of {} axes with {} shape; hand over one that "
                    "is filled in",
                    tensor.ndim, tensor.shape ? "a" : "no"));
  return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}

/// In elements. Along an axis of one element, or where there is none, any number may stand, which
/// then says nothing.
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
                      "below 0; copy it into a tensor whose axes run upward first",
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
    throw UserError(fmt::format("from_dlpack: {} at a null pointer; hand over memory of {} bytes",
                                type_text(array), array.bytes));
  const auto element_bytes = static_cast<CUdeviceptr>(size_of(array.dtype));
  if (pointer % element_bytes != 0)
    throw UserError(
        fmt::format("from_dlpack: {} at {:#x} (byte {} of {:#x}), which is no multiple of the {} "
                    "bytes of an element; copy it to an aligned place first",
                    type_text(array), pointer, tensor.byte_offset, data, element_bytes));
  CUdeviceptr end = 0;
  if (pointer < data ||
      __builtin_add_overflow(pointer, static_cast<CUdeviceptr>(array.bytes), &end))
    throw UserError(fmt::format(
        "from_dlpack: {} at byte {} of {:#x} goes past the last address; its shape or offset is "
        "wrong",
        type_text(array), tensor.byte_offset, data));
  return pointer;
}

Array import(const dlpack::Tensor& tensor, bool is_read_only, std::optional<Device> asked,
             ManagedTensorOwner owner) {
  const DType dtype = dtype_of(tensor.dtype);
  const Device device = device_for(tensor.device, asked);
  const std::span<const std::int64_t> shape = shape_of(tensor);
  const auto data = make_array_data("from_dlpack", device.state(), /*pointer=*/0, dtype, shape,
                                    strides_of(tensor, dtype, shape));
  data->pointer = pointer_of(tensor, *data);
  data->is_read_only = is_read_only;
  data->foreign =
      share_external(*device.state(), data->pointer, data->bytes, tensor.device, std::move(owner));
  return array_of(data);
}

template <class Managed>
ManagedTensorOwner own(Managed* tensor) {
  if (!tensor) throw UserError("from_dlpack: the tensor is null; hand over what a producer made");
  return {tensor, [](void* managed) {
            auto* const self = static_cast<Managed*>(managed);
            if (self->deleter) self->deleter(self);
          }};
}

/// What a reader holds of ours until it calls the deleter.
template <class Managed>
struct Lent {
  Managed managed{};
  Array array;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

dlpack::Device place_of(const ArrayData& array) {
  if (array.foreign) return array.foreign->place;
  if (array.device->is_host) return {dlpack::DeviceType::cpu, 0};
  return {dlpack::DeviceType::cuda, array.device->ordinal};
}

template <class Managed>
Managed* lend(const Array& array) {
  const ArrayData& data = array.data();
  // Whoever reads memory that the CPU can read has no stream to wait on.
  if (place_of(data).type != dlpack::DeviceType::cuda && data.elements > 0)
    array.device().synchronize();
  auto lent = std::make_unique<Lent<Managed>>(
      Lent<Managed>{.array = array, .shape = data.shape, .strides = data.strides});
  Managed& managed = lent->managed;
  managed.dl_tensor = {.data = array.pointer(),
                       .device = place_of(data),
                       .ndim = array.rank(),
                       .dtype = data_type_of(data.dtype),
                       .shape = lent->shape.data(),
                       .strides = lent->strides.data(),
                       .byte_offset = 0};
  managed.manager_ctx = lent.get();
  managed.deleter = [](Managed* self) { delete static_cast<Lent<Managed>*>(self->manager_ctx); };
  return &lent.release()->managed;
}

}  // namespace

Array from_dlpack(dlpack::ManagedTensor* tensor, std::optional<Device> device) {
  ManagedTensorOwner owner = own(tensor);
  return import(tensor->dl_tensor, /*is_read_only=*/false, device, std::move(owner));
}

Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, std::optional<Device> device) {
  ManagedTensorOwner owner = own(tensor);
  // Of another major version all but the deleter may lie elsewhere.
  if (tensor->version.major != dlpack::kVersion.major)
    throw UserError(fmt::format(
        "from_dlpack: the tensor is of DLPack {}.{}, but sinter reads {}.x; ask its producer for "
        "max_version=({}, {})",
        tensor->version.major, tensor->version.minor, dlpack::kVersion.major,
        dlpack::kVersion.major, dlpack::kVersion.minor));
  const bool is_read_only = (tensor->flags & dlpack::kReadOnly) != 0;
  return import(tensor->dl_tensor, is_read_only, device, std::move(owner));
}

dlpack::ManagedTensorVersioned* to_dlpack(const Array& array) {
  auto* const tensor = lend<dlpack::ManagedTensorVersioned>(array);
  tensor->version = dlpack::kVersion;
  tensor->flags = array.is_read_only() ? dlpack::kReadOnly : 0;
  return tensor;
}

dlpack::ManagedTensor* to_dlpack_unversioned(const Array& array) {
  if (array.is_read_only())
    throw UserError(
        fmt::format("to_dlpack_unversioned: {} is read-only, which the struct of before DLPack 1.0 "
                    "cannot say; use to_dlpack, or hand over a copy",
                    type_text(array.data())));
  return lend<dlpack::ManagedTensor>(array);
}

}  // namespace sinter
