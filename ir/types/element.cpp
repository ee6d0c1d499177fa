#include "ir/types/element.h"

#include "ir/types/float8.h"
#include "ir/types/half.h"
#include "ir/types/rounding.h"
#include "sinter/error.h"

#include <cstring>

#include <fmt/format.h>

namespace sinter {

namespace {

template <class T>
T read(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

template <class T>
void write(std::byte* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

}  // namespace

double read_real(DType dtype, const std::byte* place) {
  switch (dtype) {
    case DType::f8e4m3: return f8_value(kF8e4m3, read<std::uint8_t>(place));
    case DType::f8e5m2: return f8_value(kF8e5m2, read<std::uint8_t>(place));
    case DType::f16: return f16_value(read<std::uint16_t>(place));
    case DType::bf16: return bf16_value(read<std::uint16_t>(place));
    case DType::f32:
    case DType::c64: return read<float>(place);
    case DType::f64: return read<double>(place);
    default: return static_cast<double>(from_stored(dtype, read_integer(dtype, place)));
  }
}

std::int64_t read_integer(DType dtype, const std::byte* place) {
  switch (dtype) {
    case DType::boolean: return read<std::uint8_t>(place) != 0;
    case DType::i8: return read<std::int8_t>(place);
    case DType::u8: return read<std::uint8_t>(place);
    case DType::i16: return read<std::int16_t>(place);
    case DType::u16: return read<std::uint16_t>(place);
    case DType::i32: return read<std::int32_t>(place);
    case DType::u32: return read<std::uint32_t>(place);
    case DType::i64:
    case DType::u64: return read<std::int64_t>(place);
    default: throw InternalError(fmt::format("an element of {} is no integer", name(dtype)));
  }
}

void write_real(DType dtype, std::byte* place, long double value) {
  switch (dtype) {
    case DType::f8e4m3: return write(place, f8_bits(kF8e4m3, value));
    case DType::f8e5m2: return write(place, f8_bits(kF8e5m2, value));
    case DType::f16: return write(place, f16_bits(value));
    case DType::bf16: return write(place, bf16_bits(value));
    case DType::f32: return write(place, static_cast<float>(value));
    case DType::f64: return write(place, static_cast<double>(value));
    case DType::c64:
      write(place, static_cast<float>(value));
      return write(place + sizeof(float), 0.0F);
    default: throw InternalError(fmt::format("an element of {} is no real", name(dtype)));
  }
}

void write_integer(DType dtype, std::byte* place, Wide value) {
  if (is_floating(dtype))
    throw InternalError(fmt::format("an element of {} is no integer", name(dtype)));
  const std::int64_t wrapped = to_stored(wrap_to(dtype, value));
  switch (size_of(dtype)) {
    case 1: return write(place, static_cast<std::uint8_t>(wrapped));
    case 2: return write(place, static_cast<std::uint16_t>(wrapped));
    case 4: return write(place, static_cast<std::uint32_t>(wrapped));
    default: return write(place, wrapped);
  }
}

}  // namespace sinter
