// Logarithms of f32 for the host device, without branches or calls.
#pragma once

/// A positive number as 2^exponent * (1 + fraction), with 1 + fraction in [sqrt(1/2), sqrt(2)).
struct BinaryLogarithm {
  float exponent;
  float fraction;
  /// For normal numbers.
  __device__ __forceinline__ explicit BinaryLogarithm(float a) {
    const unsigned shifted = bits_of(a) - 0x3f3504f3u;
    exponent = static_cast<float>(static_cast<int>(shifted) >> 23);
    fraction = as_float(bits_of(a) - (shifted & 0xff800000u)) - 1.0f;
  }
  /// ln(1 + fraction) - fraction: f^3 P(f) - f^2 / 2.
  __device__ __forceinline__ float tail() const {
    const float f = fraction, z = f * f;
    const float high = 0x1.e6c00ap-4f + f * (-0x1.de01dcp-4f + f * 0x1.14733ep-4f);
    const float middle = -0x1.555c44p-3f + f * (0x1.233ba2p-3f + f * (-0x1.fc28cap-4f + f * high));
    const float low = 0x1.555548p-2f + f * (-0x1.000006p-2f + f * (0x1.99a476p-3f + f * middle));
    return f * z * low - 0.5f * z;
  }
};
/// Also for subnormal numbers.
__device__ __forceinline__ BinaryLogarithm binary_logarithm(float a) {
  const bool is_small = a < 0x1p-126f;
  BinaryLogarithm parts(is_small ? a * 0x1p+23f : a);
  parts.exponent = parts.exponent - (is_small ? 23.0f : 0.0f);
  return parts;
}

/// `result` for positive finite `a`. Infinite at 0 and infinity, NaN below 0.
__device__ __forceinline__ float logarithm_or_special(float a, float result) {
  const float at_most_zero = a == 0.0f ? as_float(0xff800000u) : as_float(0x7fc00000u);
  const float below_infinity = a > 0.0f ? result : at_most_zero;
  return a > 0x1.fffffep+127f ? a : below_infinity;
}

// The first part of each constant has few bits, so that its product with an exponent is exact.
__device__ __forceinline__ float logf(float a) {
  const BinaryLogarithm parts = binary_logarithm(a);
  const float low = parts.fraction + (parts.tail() + parts.exponent * 0x1.7f7d1cp-20f);
  return logarithm_or_special(a, parts.exponent * 0x1.62e4p-1f + low);
}

// The natural logarithm is high + low, and the first product below is exact, so that only small
// terms are rounded before the last sum.
__device__ __forceinline__ float log2f(float a) {
  const BinaryLogarithm parts = binary_logarithm(a);
  const float tail = parts.tail(), high = parts.fraction + tail;
  const float low = tail - (high - parts.fraction);
  const float result = high + (high * 0x1.c551dap-2f + low * 0x1.715476p+0f);
  return logarithm_or_special(a, parts.exponent + result);
}

__device__ __forceinline__ float log10f(float a) {
  const BinaryLogarithm parts = binary_logarithm(a);
  const float tail = parts.tail(), high = parts.fraction + tail;
  const float low = tail - (high - parts.fraction);
  const float small =
      high * -0x1.0d213ap-4f + (low * 0x1.bcb7b2p-2f + parts.exponent * 0x1.3509f8p-18f);
  return logarithm_or_special(a, parts.exponent * 0x1.344p-2f + (0.5f * high + small));
}

/// ln u + (1 + a - u) / u, where u is 1 + a rounded.
__device__ __forceinline__ float log1pf(float a) {
  const float u = 1.0f + a;
  const float lost = (a - (u - 1.0f)) / u;
  const BinaryLogarithm parts(u);
  const float tail = parts.tail() + (parts.exponent * 0x1.7f7d1cp-20f + lost);
  const float result = parts.exponent * 0x1.62e4p-1f + (parts.fraction + tail);
  return a == 0.0f ? a : logarithm_or_special(u, result);
}
