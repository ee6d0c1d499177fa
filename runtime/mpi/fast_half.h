// Conversions between f32 and f16 or bf16 that compilers vectorise. They give the bits of
// ir/types/half.h.
#pragma once

#include <bit>
#include <cstdint>

namespace sinter {

/// Each has `decode`, which is exact, and `encode`, which rounds once to nearest even.
struct FastBf16 {
  static float decode(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static std::uint16_t encode(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t nan = ((bits >> 16) & 0x8000) | 0x7fc0;
    return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
};

struct FastF16 {
  static float decode(std::uint16_t bits) {
    // The exponent is 112 too small, also that of subnormal numbers.
    const std::uint32_t shifted = static_cast<std::uint32_t>(bits & 0x7fff) << 13;
    const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(shifted) * 0x1p112F);
    const std::uint32_t magnitude = (bits & 0x7c00) == 0x7c00 ? shifted | 0x7f800000 : finite;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
    return std::bit_cast<float>(sign | magnitude);
  }
  static std::uint16_t encode(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    // Moves the exponent, and rounds the significand. A carry moves into the exponent.
    const std::uint32_t normal = (magnitude - (112U << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    // The last bit of 0.5 is that of a subnormal f16, so the sum rounds to it.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - (126U << 23);
    const std::uint32_t finite = magnitude < (113U << 23) ? subnormal : normal;
    const std::uint32_t special = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
    const std::uint32_t rounded = magnitude >= (143U << 23) ? special : finite;
    return static_cast<std::uint16_t>(((bits >> 16) & 0x8000) | rounded);
  }
};

}  // namespace sinter
