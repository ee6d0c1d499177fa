#include "tools/onnx/model/tensor_data.h"

#include "sinter/error.h"
#include "sinter/shape.h"
#include "tools/onnx/model/element_type.h"
#include "tools/onnx/model/external_data.h"
#include "tools/onnx/model/small_float.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

namespace {

/// The elements of a tensor of these extents. Throws UserError for negative extents and overflow.
std::int64_t count_elements(std::span<const std::int64_t> dims) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  if (dims.size() > static_cast<std::size_t>(kMaxRank))
    throw UserError(fmt::format("it has {} axes; arrays have at most {}", dims.size(), kMaxRank));
  std::int64_t count = 1;
  std::int64_t nonzero = 1;  // strides are products of extents, too
  for (const std::int64_t extent : dims) {
    if (extent < 0)
      throw UserError(
          fmt::format("its shape is [{}]; extents are at least 0", fmt::join(dims, ", ")));
    count = extent == 0 ? 0 : count;
    if (extent > 0 && (__builtin_mul_overflow(nonzero, extent, &nonzero) || nonzero > kMost))
      throw UserError(fmt::format("its shape [{}] has too many elements", fmt::join(dims, ", ")));
  }
  return count == 0 ? 0 : nonzero;
}

[[noreturn]] void fail_count(std::size_t found, std::int64_t wanted, const char* unit) {
  throw UserError(
      fmt::format("its data has {} {}, but its shape and type need {}", found, unit, wanted));
}

/// Sets an element of a narrow type from its bits.
void set_narrow(ElementType type, int bits, std::int64_t i, HostArray& array) {
  if (const SmallFloat* const format = small_float(type))
    return array.set_real_at(i, small_float_value(*format, bits));
  const int count = 1 << narrow_bits(static_cast<std::int32_t>(type));
  array.set_integer_at(i, array.dtype() == i8 && bits >= count / 2 ? bits - count : bits);
}

/// Unpacks elements of a narrow type, of which the lowest bits come first.
void unpack(std::string_view bytes, ElementType type, HostArray& array) {
  const int bits = narrow_bits(static_cast<std::int32_t>(type));
  const auto byte_at = [&](std::int64_t i) {
    const auto offset = static_cast<std::size_t>(i);
    return offset < bytes.size() ? static_cast<unsigned char>(bytes[offset]) : 0;
  };
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const std::int64_t at = i * bits / 8;
    const int two_bytes = byte_at(at) | byte_at(at + 1) << 8;
    set_narrow(type, two_bytes >> (i * bits % 8) & ((1 << bits) - 1), i, array);
  }
}

/// True if an item of int32_data holds several elements: those of 2 and 4 bits.
bool has_packed_items(std::int32_t type) {
  const int bits = narrow_bits(type);
  return bits == 2 || bits == 4;
}

void check_bools(const HostArray& array) {
  for (const std::byte byte : array.bytes())
    if (byte > std::byte{1})
      throw UserError(fmt::format("one of its bools is {}; only 0 and 1 are bools",
                                  std::to_integer<int>(byte)));
}

std::int64_t raw_size(const TensorProto& tensor, DType dtype, std::int64_t count) {
  const int bits = narrow_bits(tensor.data_type);
  return bits != 0 ? (count * bits + 7) / 8 : count * size_of(dtype);
}

void set_raw(const TensorProto& tensor, std::string_view bytes, HostArray& array) {
  if (const ElementType type = narrow_type(tensor.data_type); type != ElementType::undefined)
    unpack(bytes, type, array);
  else if (!bytes.empty())
    std::memcpy(array.bytes().data(), bytes.data(), bytes.size());
  if (array.dtype() == boolean) check_bools(array);
}

/// Copies whole elements of the same representation.
template <class Item>
void copy_items(const std::vector<Item>& items, HostArray& array) {
  if (!items.empty()) std::memcpy(array.bytes().data(), items.data(), items.size() * sizeof(Item));
}

/// int32_data holds the bits of floats of 6 to 16 bits, and the values of small integers. Of types
/// of 2 and 4 bits, it holds bytes with several elements.
void set_small_items(const TensorProto& tensor, HostArray& array) {
  const std::vector<std::int32_t>& items = tensor.int32_data;
  if (const ElementType type = narrow_type(tensor.data_type); type != ElementType::undefined) {
    if (!has_packed_items(tensor.data_type)) {
      const int mask = (1 << narrow_bits(tensor.data_type)) - 1;
      for (std::size_t i = 0; i < items.size(); ++i)
        set_narrow(type, items[i] & mask, static_cast<std::int64_t>(i), array);
      return;
    }
    std::string bytes;
    for (const std::int32_t item : items) bytes += static_cast<char>(item);
    return unpack(bytes, type, array);
  }
  const auto size = static_cast<std::size_t>(size_of(array.dtype()));
  for (std::size_t i = 0; i < items.size(); ++i)
    std::memcpy(array.bytes().data() + i * size, &items[i], size);
  if (array.dtype() == boolean) check_bools(array);
}

/// The number of items in the field for `dtype` (set_items), and the field's name.
struct TypedField {
  std::size_t items = 0;
  const char* unit = "";
};

TypedField field_of(const TensorProto& tensor, DType dtype) {
  switch (dtype) {
    case DType::f32: return {tensor.float_data.size(), "items of float_data"};
    case DType::f64: return {tensor.double_data.size(), "items of double_data"};
    case DType::i64: return {tensor.int64_data.size(), "items of int64_data"};
    case DType::u32:
    case DType::u64: return {tensor.uint64_data.size(), "items of uint64_data"};
    default: return {tensor.int32_data.size(), "items of int32_data"};
  }
}

void set_items(const TensorProto& tensor, HostArray& array) {
  switch (array.dtype()) {
    case DType::f32: return copy_items(tensor.float_data, array);
    case DType::f64: return copy_items(tensor.double_data, array);
    case DType::i64: return copy_items(tensor.int64_data, array);
    case DType::u64: return copy_items(tensor.uint64_data, array);
    case DType::u32:
      for (std::size_t i = 0; i < tensor.uint64_data.size(); ++i)
        array.set_integer_at(static_cast<std::int64_t>(i),
                             static_cast<std::int64_t>(tensor.uint64_data[i]));
      return;
    default: return set_small_items(tensor, array);
  }
}

}  // namespace

HostArray array_of(const TensorProto& tensor, const std::filesystem::path& folder) {
  const std::optional<DType> dtype = dtype_of(tensor.data_type);
  if (!dtype)
    throw UserError(fmt::format("its elements are {}, for which sinter has no dtype",
                                element_type_name(tensor.data_type)));
  if (tensor.segment) throw UserError("it is a segment of a larger tensor; store it in one piece");
  const std::int64_t count = count_elements(tensor.dims);
  const std::int64_t bytes = raw_size(tensor, *dtype, count);
  // Sizes are checked before memory is allocated.
  if (tensor.data_location == 1) {
    const std::string data = read_external_data(tensor.external_data, folder, bytes);
    HostArray array(*dtype, tensor.dims);
    set_raw(tensor, data, array);
    return array;
  }
  if (tensor.data_location != 0)
    throw UserError(
        fmt::format("its data location is {}; known are 0 (in the message) and 1 (in a file)",
                    tensor.data_location));
  if (tensor.raw_data) {
    if (tensor.raw_data->size() != static_cast<std::size_t>(bytes))
      fail_count(tensor.raw_data->size(), bytes, "bytes");
    HostArray array(*dtype, tensor.dims);
    set_raw(tensor, *tensor.raw_data, array);
    return array;
  }
  const TypedField field = field_of(tensor, *dtype);
  const std::int64_t items = has_packed_items(tensor.data_type) ? bytes : count;
  if (field.items != static_cast<std::size_t>(items)) fail_count(field.items, items, field.unit);
  HostArray array(*dtype, tensor.dims);
  set_items(tensor, array);
  return array;
}

}  // namespace sinter::onnx
