// Exponential functions of f32 for the host device, without branches or calls. Loops over them
// become vector code. codegen/README.md has the methods and the errors.
#pragma once

/// 2^exponent, for exponents from -126 to 127.
__device__ __forceinline__ float power_of_two(int exponent) {
  return as_float(static_cast<unsigned>(exponent + 127) << 23);
}
/// value * 2^exponent, rounded once if |value| is in [0.5, 2]. Exponents from -252 to 254.
__device__ __forceinline__ float times_power_of_two(float value, int exponent) {
  const int half = exponent >> 1;
  return value * power_of_two(half) * power_of_two(exponent - half);
}
/// Neither above `most` nor below `least`; NaN stays NaN.
__device__ __forceinline__ float clamped(float a, float least, float most) {
  a = a > most ? most : a;
  return a < least ? least : a;
}

/// a = exponent * ln 2 + rest, with |rest| <= ln 2 / 2, for |a| < 2^21.
struct BinaryExponent {
  int exponent;
  float rest;
  __device__ __forceinline__ explicit BinaryExponent(float a) {
    // Adding 1.5 * 2^23 rounds to an integer, which then is in the low bits.
    const float shifted = a * 0x1.715476p+0f + 0x1.8p+23f;
    const float rounded = shifted - 0x1.8p+23f;
    exponent = static_cast<int>(bits_of(shifted) - 0x4b400000u);
    // The first part of ln 2 has 15 bits, so that its product and the difference are exact.
    rest = (a - rounded * 0x1.62e4p-1f) - rounded * 0x1.7f7d1cp-20f;
  }
};

/// e^r - 1 for |r| <= ln 2 / 2: r + r^2 P(r).
__device__ __forceinline__ float expm1_near_zero(float r) {
  const float high = 0x1.5556f2p-5f + r * (0x1.12254ap-7f + r * 0x1.6b9c66p-10f);
  return r + r * r * (0x1.fffffep-2f + r * (0x1.5554b4p-3f + r * high));
}

__device__ __forceinline__ float expf(float a) {
  // Results round to 0 below -104 and overflow above 89.
  const BinaryExponent parts(clamped(a, -104.0f, 89.0f));
  return times_power_of_two(1.0f + expm1_near_zero(parts.rest), parts.exponent);
}

__device__ __forceinline__ float exp2f(float a) {
  const float inside = clamped(a, -151.0f, 129.0f);
  const float shifted = inside + 0x1.8p+23f;
  const float r = inside - (shifted - 0x1.8p+23f);
  const float high = 0x1.3b2dd6p-7f + r * (0x1.5f095ep-10f + r * 0x1.41765ep-13f);
  const float less_one =
      r * (0x1.62e430p-1f + r * (0x1.ebfbdcp-3f + r * (0x1.c6af7ap-5f + r * high)));
  return times_power_of_two(1.0f + less_one, static_cast<int>(bits_of(shifted) - 0x4b400000u));
}

__device__ __forceinline__ float expm1f(float a) {
  // The result rounds to -1 below -18. Half of the result does not overflow below 89.
  const BinaryExponent parts(clamped(a, -18.0f, 89.0f));
  const float near_zero = expm1_near_zero(parts.rest);
  const float half_power = power_of_two(parts.exponent - 1);
  const float result = 2.0f * (half_power * near_zero + (half_power - 0.5f));
  return copysignf(parts.exponent == 0 ? near_zero : result, a);
}

/// E / (E + 2) with E = e^(2 |a|) - 1.
__device__ __forceinline__ float tanhf(float a) {
  const float magnitude = fabsf(a);
  const BinaryExponent parts(2.0f * (magnitude > 9.5f ? 9.5f : magnitude));
  const float power = power_of_two(parts.exponent);
  const float less_one = power * expm1_near_zero(parts.rest) + (power - 1.0f);
  return copysignf(less_one / (less_one + 2.0f), a);
}

/// e^|a| - 1 in f64, with a relative error below 2^-35, for |a| < 128.
__device__ __forceinline__ double wide_expm1(float a) {
  const double magnitude = fabsf(a);
  const double shifted = magnitude * 0x1.71547652b82fep+0 + 0x1.8p+52;
  const double rounded = shifted - 0x1.8p+52;
  const double r = (magnitude * 0x1.71547652b82fep+0) - rounded;
  const double power = as_double((bits_of(shifted) - 0x4338000000000000ull + 1023) << 52);
  return power * exp2_less_one(r) + (power - 1.0);
}
__device__ __forceinline__ float sinhf(float a) {
  const double less_one = wide_expm1(clamped(a, -90.0f, 90.0f));
  return copysignf(static_cast<float>(0.5 * (less_one + less_one / (less_one + 1.0))), a);
}
__device__ __forceinline__ float coshf(float a) {
  const double power = wide_expm1(clamped(a, -90.0f, 90.0f)) + 1.0;
  return static_cast<float>(0.5 * power + 0.5 / power);
}
