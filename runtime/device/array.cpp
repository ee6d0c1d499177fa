// Array: construction, shape checks, views and accessors.
#include "sinter/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "runtime/device/device_state.h"
#include "runtime/driver/deferred_release.h"
#include "sinter/error.h"

namespace sinter {

namespace {

std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

/// True if the elements are contiguous in row-major order. Strides of extents of 1 do not matter, and
/// none does if there are no elements.
bool is_row_major(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

/// The bytes from the start of the first element to the end of the last one. Throws UserError.
std::int64_t span_bytes(std::string_view what, DType dtype, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    std::int64_t reach = 0;
    if (strides[i] < 0 || __builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      throw UserError(fmt::format("{}: strides {} do not fit shape {}; they must not be negative",
                                  what, to_string(strides), to_string(shape)));
  }
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(last, std::int64_t{1}, &last) ||
      __builtin_mul_overflow(last, std::int64_t{size_of(dtype)}, &bytes))
    throw UserError(fmt::format("{}: {}{} with strides {} does not fit in 63 bits of bytes", what,
                                name(dtype), to_string(shape), to_string(strides)));
  return bytes;
}

}  // namespace

std::shared_ptr<ArrayData> make_array_data(std::string_view what, DeviceState* device,
                                           CUdeviceptr pointer, DType dtype,
                                           std::span<const std::int64_t> shape,
                                           std::span<const std::int64_t> strides) {
  static std::atomic<std::uint64_t> next_id = 1;
  auto data = std::make_shared<ArrayData>();
  data->elements = checked_elements(what, dtype, shape);
  if (!strides.empty() && strides.size() != shape.size())
    throw UserError(fmt::format("{}: {} strides {} for shape {} of rank {}", what, strides.size(),
                                to_string(strides), to_string(shape), shape.size()));
  data->device = device;
  data->pointer = pointer;
  data->dtype = dtype;
  data->shape.assign(shape.begin(), shape.end());
  data->strides = strides.empty() ? row_major(shape)
                                  : std::vector<std::int64_t>(strides.begin(), strides.end());
  data->is_row_major = is_row_major(data->shape, data->strides);
  data->bytes = span_bytes(what, dtype, data->shape, data->strides);
  data->id = next_id.fetch_add(1, std::memory_order_relaxed);
  return data;
}

Array array_of(std::shared_ptr<const ArrayData> data) { return Array(std::move(data)); }

std::int64_t checked_elements(std::string_view what, DType dtype,
                              std::span<const std::int64_t> shape) {
  if (shape.size() > kMaxRank)
    throw UserError(fmt::format("{}: shape {} has rank {}; at most {} is possible", what,
                                to_string(shape), shape.size(), kMaxRank));
  std::int64_t elements = 1;
  std::int64_t bytes = 0;
  bool fits = true;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw UserError(fmt::format("{}: shape {} has a negative extent", what, to_string(shape)));
    fits = fits && !__builtin_mul_overflow(elements, std::max<std::int64_t>(extent, 1), &elements);
  }
  if (!fits || __builtin_mul_overflow(elements, std::int64_t{size_of(dtype)}, &bytes))
    throw UserError(fmt::format("{}: {}{} does not fit in 63 bits of bytes", what, name(dtype),
                                to_string(shape)));
  return std::ranges::count(shape, 0) ? 0 : elements;
}

std::string to_string(std::span<const std::int64_t> sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

std::string type_text(const ArrayData& array) {
  return fmt::format("{}{}", name(array.dtype), to_string(array.shape));
}

Array Device::empty(DType dtype, Sizes shape, Sizes strides) const {
  return empty_array(*state_, dtype, shape, strides, /*stream=*/0);
}

Array empty_array(DeviceState& device, DType dtype, Sizes shape, Sizes strides,
                  std::uint64_t stream) {
  run_deferred_releases();
  auto data = make_array_data("Device::empty", &device, /*pointer=*/0, dtype, shape, strides);
  const std::string what = type_text(*data);
  data->memory =
      std::make_shared<DeviceMemory>(device, data->bytes, what, Pooled{.stream = stream});
  data->pointer = data->memory->pointer;
  return array_of(std::move(data));
}

Array Array::wrap(void* pointer, DType dtype, Sizes shape, Device device, Sizes strides) {
  return Array(make_array_data("Array::wrap", device.state(),
                               reinterpret_cast<CUdeviceptr>(pointer), dtype, shape, strides));
}

Array Array::view(std::int64_t byte_offset, DType dtype, Sizes shape, Sizes strides) const {
  auto data = make_array_data("Array::view", data_->device, data_->pointer, dtype, shape, strides);
  if (byte_offset < 0 || byte_offset > data_->bytes || data->bytes > data_->bytes - byte_offset)
    throw UserError(
        fmt::format("Array::view: {} at byte {} needs {} bytes, but the array {} ends after {}",
                    type_text(*data), byte_offset, data->bytes, type_text(*data_), data_->bytes));
  data->pointer += static_cast<CUdeviceptr>(byte_offset);
  data->memory = data_->memory;
  data->external = data_->external;
  data->is_read_only = data_->is_read_only;
  return Array(std::move(data));
}

Array Array::read_only() const {
  auto data = make_array_data("Array::read_only", data_->device, data_->pointer, data_->dtype,
                              data_->shape, data_->strides);
  data->memory = data_->memory;
  data->external = data_->external;
  data->is_read_only = true;
  return Array(std::move(data));
}

DType Array::dtype() const { return data_->dtype; }
std::span<const std::int64_t> Array::shape() const { return data_->shape; }
std::span<const std::int64_t> Array::strides() const { return data_->strides; }
std::int64_t Array::elements() const { return data_->elements; }
std::int64_t Array::bytes() const { return data_->bytes; }
bool Array::is_read_only() const { return data_->is_read_only; }
bool Array::is_row_major() const { return data_->is_row_major; }
void* Array::pointer() const {
  if (data_->memory) data_->memory->stop_tracking();
  return reinterpret_cast<void*>(data_->pointer);
}
Device Array::device() const { return Device(data_->device); }

}  // namespace sinter
