// Inverse trigonometric and hyperbolic functions, cube roots and lengths of f32 for the host
// device, without branches or calls. They compute in f64, so that one rounding remains.
#pragma once

/// atan(z) for 0 <= z <= 1, with a relative error of 2^-31: z P(z^2).
__device__ __forceinline__ double atan_below_one(double z) {
  const double u = z * z;
  const double high =
      fma(fma(0x1.1e07a94ca0ba0p-10, u, -0x1.d7d225fc5f4b0p-8), u, 0x1.6cf1abdf8dc40p-6);
  const double upper = fma(fma(high, u, -0x1.6b608ab0b5446p-5), u, 0x1.131787d01a8edp-4);
  const double middle = fma(fma(upper, u, -0x1.6865d33d8c487p-4), u, 0x1.c4cad961d1703p-4);
  const double lower = fma(fma(middle, u, -0x1.246febab5ccf6p-3), u, 0x1.999786f40ce59p-3);
  return z * fma(fma(lower, u, -0x1.55554f06c04bdp-2), u, 0x1.fffffffcce6c5p-1);
}
/// atan(a) for a >= 0, also for infinity.
__device__ __forceinline__ double wide_atan(double a) {
  const double near = atan_below_one(a > 1.0 ? 1.0 / a : a);
  return a > 1.0 ? 0x1.921fb54442d18p+0 - near : near;
}

__device__ __forceinline__ float atanf(float a) {
  return copysignf(static_cast<float>(wide_atan(fabsf(a))), a);
}
/// The root of a negative number makes the result NaN beyond 1.
__device__ __forceinline__ float asinf(float a) {
  const double x = fabsf(a);
  return copysignf(static_cast<float>(wide_atan(x / sqrt((1.0 - x) * (1.0 + x)))), a);
}
__device__ __forceinline__ float acosf(float a) {
  const double x = a;
  return static_cast<float>(2.0 * wide_atan(sqrt((1.0 - x) / (1.0 + x))));
}
__device__ __forceinline__ float atan2f(float a, float b) {
  const double y = fabsf(a), x = fabsf(b);
  const bool is_steep = y > x;
  const double low = is_steep ? x : y, high = is_steep ? y : x;
  // 0 / 0 is 0, and inf / inf is 1.
  const double ratio = low == high ? (low == 0.0 ? 0.0 : 1.0) : low / high;
  const double near = atan_below_one(ratio);
  const double right = is_steep ? 0x1.921fb54442d18p+0 - near : near;
  const double angle = bits_of(b) >> 31 ? 0x1.921fb54442d18p+1 - right : right;
  const float result = copysignf(static_cast<float>(angle), a);
  return a != a || b != b ? as_float(0x7fc00000u) : result;
}

/// ln of a finite number >= 1.
__device__ __forceinline__ double wide_log(double a) { return wide_log2(a) * 0x1.62e42fefa39efp-1; }

__device__ __forceinline__ float asinhf(float a) {
  const float magnitude = fabsf(a);
  const double x = magnitude;
  const float large = static_cast<float>(wide_log(x + sqrt(fma(x, x, 1.0))));
  // The series begins with a - a^3 / 6.
  const float finite = magnitude < 0x1p-13f ? magnitude : large;
  return copysignf(magnitude <= 0x1.fffffep+127f ? finite : magnitude, a);
}
__device__ __forceinline__ float acoshf(float a) {
  const double x = a;
  const float result = static_cast<float>(wide_log(x + sqrt((x - 1.0) * (x + 1.0))));
  const float finite = a >= 1.0f ? result : as_float(0x7fc00000u);
  return a > 0x1.fffffep+127f ? a : finite;
}
__device__ __forceinline__ float atanhf(float a) {
  const float magnitude = fabsf(a);
  const double x = magnitude;
  const float large = static_cast<float>(0.5 * wide_log((1.0 + x) / (1.0 - x)));
  // The series begins with a + a^3 / 3.
  const float below_one = magnitude < 0x1p-14f ? magnitude : large;
  const float at_least_one = magnitude == 1.0f ? as_float(0x7f800000u) : as_float(0x7fc00000u);
  return copysignf(magnitude < 1.0f ? below_one : at_least_one, a);
}

/// The exponent divided by 3 gives a guess, which is within 6 percent. Each of two steps of
/// Halley's method then triples the digits.
__device__ __forceinline__ float cbrtf(float a) {
  const double x = fabsf(a);
  const unsigned upper = static_cast<unsigned>(bits_of(x) >> 32);
  double y = as_double(static_cast<unsigned long long>(upper / 3 + 0x2a9f7893u) << 32);
  for (int i = 0; i < 2; ++i) {
    const double cube = y * y * y;
    y = y * fma(2.0, x, cube) / fma(2.0, cube, x);
  }
  const bool is_usual = a != 0.0f && x <= 0x1.fffffep+127;
  return is_usual ? copysignf(static_cast<float>(y), a) : a;
}

/// Infinite if an operand is, also if the other one is NaN.
__device__ __forceinline__ float hypotf(float a, float b) {
  const double x = fabsf(a), y = fabsf(b);
  const float length = static_cast<float>(sqrt(fma(x, x, y * y)));
  const bool is_infinite = x > 0x1.fffffep+127 || y > 0x1.fffffep+127;
  return is_infinite ? as_float(0x7f800000u) : length;
}
