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
};
/// Also for subnormal numbers.
__device__ __forceinline__ BinaryLogarithm binary_logarithm(float a) {
  BinaryLogarithm parts(a < 0x1p-126f ? a * 0x1p+23f : a);
  // Another form of the same condition. From two equal ones GCC makes two copies of the function.
  parts.exponent = bits_of(a) < 0x00800000u ? parts.exponent - 23.0f : parts.exponent;
  return parts;
}

/// `result` for positive finite `a`. Infinite at 0 and infinity, NaN below 0.
__device__ __forceinline__ float logarithm_or_special(float a, float result) {
  const float at_most_zero = a == 0.0f ? as_float(0xff800000u) : as_float(0x7fc00000u);
  const float below_infinity = a > 0.0f ? result : at_most_zero;
  return a > 0x1.fffffep+127f ? a : below_infinity;
}

/// P with ln(1 + f) = f + f^2 P(f), from z = f^2.
__device__ __forceinline__ float natural_tail(float f, float z) {
  const float even = fmaf(fmaf(-0x1.383ebcp-4f, z, -0x1.0f4f0ep-3f), z, -0x1.542402p-3f);
  const float odd = fmaf(fmaf(0x1.087e60p-3f, z, 0x1.226b2ap-3f), z, 0x1.99a428p-3f);
  const float high = fmaf(odd, f, fmaf(even, z, -0x1.000438p-2f));
  return fmaf(fmaf(high, f, 0x1.555550p-2f), f, -0x1.fffff8p-2f);
}

__device__ __forceinline__ float logf(float a) {
  const BinaryLogarithm parts = binary_logarithm(a);
  const float f = parts.fraction, z = f * f;
  // ln 2 as a float is precise to 2^-29.
  const float result = fmaf(parts.exponent, 0x1.62e430p-1f, fmaf(z, natural_tail(f, z), f));
  return logarithm_or_special(a, result);
}

__device__ __forceinline__ float log2f(float a) {
  const BinaryLogarithm parts = binary_logarithm(a);
  const float f = parts.fraction, z = f * f;
  const float even = fmaf(fmaf(-0x1.c39b94p-4f, z, -0x1.87f7eep-3f), z, -0x1.eaa24ap-3f);
  const float odd = fmaf(fmaf(0x1.7f281ep-3f, z, 0x1.a2c9dcp-3f), z, 0x1.277f44p-2f);
  const float tail = fmaf(fmaf(odd, z, 0x1.ec7094p-2f), f,
                          fmaf(fmaf(even, z, -0x1.715afep-2f), z, -0x1.715470p-1f));
  const float small = fmaf(z, tail, f * 0x1.4ae0c0p-26f);
  return logarithm_or_special(a, parts.exponent + fmaf(f, 0x1.715476p+0f, small));
}

__device__ __forceinline__ float log10f(float a) {
  const BinaryLogarithm parts = binary_logarithm(a);
  const float f = parts.fraction, z = f * f;
  const float even = fmaf(fmaf(-0x1.108156p-5f, z, -0x1.d7938ep-5f), z, -0x1.276a48p-4f);
  const float odd = fmaf(fmaf(0x1.cd07cap-5f, z, 0x1.f84c1ap-5f), z, 0x1.63d068p-4f);
  const float tail = fmaf(fmaf(odd, z, 0x1.287a70p-3f), f,
                          fmaf(fmaf(even, z, -0x1.bcbf52p-4f), z, -0x1.bcb7aap-3f));
  const float low = fmaf(f, -0x1.5b235ep-27f, parts.exponent * -0x1.ec10c0p-27f);
  const float small = fmaf(f, 0x1.bcb7b2p-2f, fmaf(z, tail, low));
  return logarithm_or_special(a, fmaf(parts.exponent, 0x1.344136p-2f, small));
}

/// ln u + (1 + a - u) / u, where u is 1 + a rounded.
__device__ __forceinline__ float log1pf(float a) {
  const float u = 1.0f + a;
  const float lost = (a - (u - 1.0f)) / u;
  const BinaryLogarithm parts(u);
  const float f = parts.fraction, z = f * f;
  const float small = f + fmaf(z, natural_tail(f, z), lost);
  const float result = fmaf(parts.exponent, 0x1.62e430p-1f, small);
  return a == 0.0f ? a : logarithm_or_special(u, result);
}
