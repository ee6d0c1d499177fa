// Conversions between elements in memory and the numbers of products: float for f16, bf16, f8 and
// f32, double for f64, short for i8. They give the bits of ir/types/half.h and ir/types/float8.h.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "ir/types/float8.h"
#include "ir/types/half.h"
#include "sinter/dtype.h"
#include "sinter/error.h"

namespace sinter {

struct F32Element {
  using Storage = float;
  static float value(float bits) { return bits; }
};

struct F64Element {
  using Storage = double;
  static double value(double bits) { return bits; }
};

struct I8Element {
  using Storage = std::int8_t;
  static std::int16_t value(std::int8_t bits) { return bits; }
};

struct Bf16Element {
  using Storage = std::uint16_t;
  static float value(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// Without branches, so that loops over elements become vector instructions.
struct F16Element {
  using Storage = std::uint16_t;
  static float value(std::uint16_t bits) {
    constexpr std::uint32_t kInfinity = 0x7c00U << 13;
    const std::uint32_t magnitude = (bits & 0x7fffU) << 13;
    // A f32 with these bits is the number divided by 2^112, also if the f16 is denormal.
    const auto number = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
    const std::uint32_t exponent = magnitude >= kInfinity ? 0x7f800000U : 0U;
    return std::bit_cast<float>(number | exponent | (bits & 0x8000U) << 16);
  }
};

/// The values of all 256 bit patterns.
template <const Float8Format& format>
inline const std::array<float, 256>& f8_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> table{};
    for (int i = 0; i < 256; ++i) table[i] = f8_value(format, static_cast<std::uint8_t>(i));
    return table;
  }();
  return values;
}

template <const Float8Format& format>
struct F8Element {
  using Storage = std::uint8_t;
  static float value(std::uint8_t bits) { return f8_values<format>()[bits]; }
};

/// Calls `body` with the element type of an operand of products.
template <class Body>
void with_element(DType dtype, const Body& body) {
  switch (dtype) {
    case f32: return body(F32Element());
    case f64: return body(F64Element());
    case i8: return body(I8Element());
    case f16: return body(F16Element());
    case bf16: return body(Bf16Element());
    case f8e4m3: return body(F8Element<kF8e4m3>());
    case f8e5m2: return body(F8Element<kF8e5m2>());
    default: ensure(false, "products have no operands of this dtype");
  }
}

/// The bf16 nearest to `value`.
inline std::uint16_t round_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>(is_nan ? (bits >> 16 & 0x8000U) | 0x7fc0U : rounded);
}

/// The f16 nearest to `value`.
inline std::uint16_t round_to_f16(float value) {
  constexpr std::uint32_t kSmallestNormal = 113U << 23;  // 2^-14
  constexpr std::uint32_t kOverflow = 0x477ff000U;       // 65520, halfway to 2^16
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Adding 0.5 rounds a denormal result to a multiple of 2^-24, the last bit of the f32 0.5.
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  std::uint32_t result = magnitude < kSmallestNormal ? denormal : normal;
  result = magnitude >= kOverflow ? 0x7c00U : result;
  result = magnitude > 0x7f800000U ? 0x7e00U : result;
  return static_cast<std::uint16_t>(result | (bits >> 16 & 0x8000U));
}

/// Rounds a sum to element `index` of an array of `dtype`.
inline void store_element(DType dtype, void* data, std::int64_t index, float sum) {
  if (dtype == f32) static_cast<float*>(data)[index] = sum;
  if (dtype == f16) static_cast<std::uint16_t*>(data)[index] = round_to_f16(sum);
  if (dtype == bf16) static_cast<std::uint16_t*>(data)[index] = round_to_bf16(sum);
}
inline void store_element(DType, void* data, std::int64_t index, double sum) {
  static_cast<double*>(data)[index] = sum;
}
inline void store_element(DType, void* data, std::int64_t index, std::int32_t sum) {
  static_cast<std::int32_t*>(data)[index] = sum;
}

/// Rounds `count` adjacent sums to elements from `index` on.
template <class Sum>
void store_elements(DType dtype, void* data, std::int64_t index, const Sum* sums,
                    std::int64_t count) {
  if (dtype == f16)
    for (std::int64_t i = 0; i < count; ++i) store_element(f16, data, index + i, sums[i]);
  else if (dtype == bf16)
    for (std::int64_t i = 0; i < count; ++i) store_element(bf16, data, index + i, sums[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) store_element(f32, data, index + i, sums[i]);
}

}  // namespace sinter
