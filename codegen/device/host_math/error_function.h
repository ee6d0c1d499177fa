// The error functions of f32 for the host device, without branches or calls.
#pragma once

/// a + a P(a^2) for small a; 1 - e^Q(|a|) for others.
__device__ __forceinline__ float erff(float a) {
  const float z = a * a;
  const float small_high = 0x1.5449b2p-8f + z * (-0x1.a603b8p-11f + z * 0x1.4f4746p-14f);
  const float small_middle = 0x1.ce2d64p-4f + z * (-0x1.b80116p-6f + z * small_high);
  const float small = a + a * (0x1.06eba8p-3f + z * (-0x1.812740p-2f + z * small_middle));

  const float magnitude = fabsf(a);
  const float t = magnitude > 3.95f ? 3.95f : magnitude;  // beyond, the result rounds to 1
  const float high = 0x1.6c88b6p-6f + t * (-0x1.8f9f86p-9f + t * 0x1.9c2118p-13f);
  const float middle = -0x1.4635d6p-1f + t * (-0x1.a9e4e0p-4f + t * high);
  const BinaryExponent parts(-0x1.8a8712p-13f + t * (-0x1.20b166p+0f + t * middle));
  const float power = power_of_two(parts.exponent);
  const float large = 1.0f - (power + power * expm1_near_zero(parts.rest));
  return magnitude < 0.92f ? small : copysignf(large, a);
}

/// e^(-a^2) P(t) / (a + 1/2) for a >= 0, with t = (a - 2) / (a + 2). 2 - erfc(-a) below 0.
/// Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x" (1981).
__device__ __forceinline__ float erfcf(float a) {
  const float magnitude = fabsf(a);
  const float x = magnitude > 10.5f ? 10.5f : magnitude;  // beyond, the result rounds to 0
  const float t = (x - 2.0f) / (x + 2.0f);
  const float high =
      0x1.1b15dap-8f + t * (0x1.587db0p-11f + t * (-0x1.4420e2p-11f + t * -0x1.a75830p-13f));
  const float middle = 0x1.4ffbeap-4f + t * (-0x1.bc10c4p-6f + t * (-0x1.080e54p-8f + t * high));
  const float series = 0x1.46e80ep-1f + t * (-0x1.7bf606p-5f + t * (-0x1.54080cp-4f + t * middle));
  // The square and its rounding error, by Dekker's product (1971): each half of x has 12 bits.
  const float square = x * x;
  const float upper = as_float(bits_of(x) & 0xfffff000u), lower = x - upper;
  const float lost = ((upper * upper - square) + 2.0f * upper * lower) + lower * lower;
  const BinaryExponent parts(-square);
  const float power = 1.0f + expm1_near_zero(parts.rest - lost);
  const float positive = times_power_of_two(power * (series / (x + 0.5f)), parts.exponent);
  return a < 0.0f ? 2.0f - positive : positive;
}
