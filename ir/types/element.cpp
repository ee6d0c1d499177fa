// Reading and writing of single elements.
#include "ir/types/element.h"

#include "ir/types/casts.h"
#include "ir/types/float8.h"
#include "ir/types/half.h"
#include "sinter/error.h"

#include <cstring>

#include <fmt/format.h>

namespace sinter {

namespace {

template <class T>
T read(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <class T>
void write(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

}  // namespace

double read_real(DType dtype, const std::byte* address) {
  switch (dtype) {
    case DType::f8e4m3: return f8_value(kF8e4m3, read<std::uint8_t>(address));
    case DType::f8e5m2: return f8_value(kF8e5m2, read<std::uint8_t>(address));
    case DType::f16: return f16_value(read<std::uint16_t>(address));
    case DType::bf16: return bf16_value(read<std::uint16_t>(address));
    case DType::f32:
    case DType::c64: return read<float>(address);
    case DType::f64: return read<double>(address);
    default: return static_cast<double>(from_storage_bits(dtype, read_integer(dtype, address)));
  }
}

std::int64_t read_integer(DType dtype, const std::byte* address) {
  switch (dtype) {
    case DType::boolean: return read<std::uint8_t>(address) != 0;
    case DType::i8: return read<std::int8_t>(address);
    case DType::u8: return read<std::uint8_t>(address);
    case DType::i16: return read<std::int16_t>(address);
    case DType::u16: return read<std::uint16_t>(address);
    case DType::i32: return read<std::int32_t>(address);
    case DType::u32: return read<std::uint32_t>(address);
    case DType::i64:
    case DType::u64: return read<std::int64_t>(address);
    default: throw InternalError(fmt::format("an element of {} is not an integer", name(dtype)));
  }
}

void write_real(DType dtype, std::byte* address, long double value) {
  switch (dtype) {
    case DType::f8e4m3: return write(address, f8_bits(kF8e4m3, value));
    case DType::f8e5m2: return write(address, f8_bits(kF8e5m2, value));
    case DType::f16: return write(address, f16_bits(value));
    case DType::bf16: return write(address, bf16_bits(value));
    case DType::f32: return write(address, static_cast<float>(value));
    case DType::f64: return write(address, static_cast<double>(value));
    case DType::c64:
      write(address, static_cast<float>(value));
      return write(address + sizeof(float), 0.0F);
    default: throw InternalError(fmt::format("an element of {} is no real", name(dtype)));
  }
}

void write_integer(DType dtype, std::byte* address, Wide value) {
  if (is_floating(dtype))
    throw InternalError(fmt::format("an element of {} is not an integer", name(dtype)));
  const std::int64_t wrapped = to_storage_bits(wrap_to(dtype, value));
  switch (size_of(dtype)) {
    case 1: return write(address, static_cast<std::uint8_t>(wrapped));
    case 2: return write(address, static_cast<std::uint16_t>(wrapped));
    case 4: return write(address, static_cast<std::uint32_t>(wrapped));
    default: return write(address, wrapped);
  }
}

}  // namespace sinter
