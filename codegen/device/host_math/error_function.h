// The error functions of f32 for the host device, without branches or calls.
#pragma once

/// a + a P(a^2) for small a; 1 - e^Q(|a|) for others.
__device__ __forceinline__ float erff(float a) {
  const float z = a * a;
  const float small_high = fmaf(fmaf(0x1.4f4746p-14f, z, -0x1.a603b8p-11f), z, 0x1.5449b2p-8f);
  const float small_middle = fmaf(fmaf(small_high, z, -0x1.b80116p-6f), z, 0x1.ce2d64p-4f);
  const float small_low = fmaf(fmaf(small_middle, z, -0x1.812740p-2f), z, 0x1.06eba8p-3f);
  const float small = fmaf(small_low, a, a);

  const float t = fabsf(a);
  const float high = fmaf(fmaf(0x1.9c2118p-13f, t, -0x1.8f9f86p-9f), t, 0x1.6c88b6p-6f);
  const float middle = fmaf(fmaf(high, t, -0x1.a9e4e0p-4f), t, -0x1.4635d6p-1f);
  const BinaryExponent parts(fmaf(fmaf(middle, t, -0x1.20b166p+0f), t, -0x1.8a8712p-13f));
  const float power = parts.exponent.power();
  const float inside = fmaf(-power, expm1_near_zero(parts.rest), 1.0f - power);
  const float large = t > 3.95f ? 1.0f : inside;  // beyond, the result rounds to 1
  return t < 0.92f ? small : copysignf(large, a);
}

/// e^(-a^2) P(a) / Q(a) for a >= 0. 2 - erfc(-a) below 0.
__device__ __forceinline__ float erfcf(float a) {
  const float x = fabsf(a), square = x * x;
  // The square is multiple - r, where the multiple of ln 2 is exact, and r is rounded once.
  const float shifted = fmaf(square, -0x1.715476p+0f, 0x1.8p+23f);
  const float multiple = fmaf(shifted, 0x1.62e4p-1f, -0x1.8p+23f * 0x1.62e4p-1f);
  const float r = fmaf(multiple, 0x1.14a114p-19f, fmaf(x, x, multiple));
  // 2^64 e^-r. The factor keeps the power of two in the range of normal numbers.
  const float high = fmaf(fmaf(0x1.6a4cb4p+54f, r, -0x1.123986p+57f), r, 0x1.5558b0p+59f);
  const float middle = fmaf(fmaf(high, r, -0x1.555492p+61f), r, 0x1.fffffcp+62f);
  const float near_one = fmaf(fmaf(middle, r, -0x1p+64f), r, 0x1p+64f);
  const float power = as_float(bits_of(near_one) + (bits_of(shifted) << 23));

  const float above_odd = fmaf(0x1.d2fc48p-3f, square, 0x1.3c7288p+0f);
  const float above_even = fmaf(fmaf(0x1.0a831ep-5f, square, 0x1.755272p-1f), square, 0x1p+0f);
  const float below_odd =
      fmaf(fmaf(0x1.d85fe6p+59f, square, 0x1.521da8p+64f), square, 0x1.2ea802p+65f);
  const float below_even = fmaf(fmaf(0x1.9de20cp+62f, square, 0x1.32d72ep+65f), square, 0x1p+64f);
  const float ratio = fmaf(above_odd, x, above_even) / fmaf(below_odd, x, below_even);
  const float positive = x > 10.5f ? 0.0f : ratio * power;
  return a < 0.0f ? 2.0f - positive : positive;
}
