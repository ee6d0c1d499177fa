// Exponential functions of f32 for the host device, without branches or calls. Loops over them
// become vector code. codegen/README.md has the methods and the errors.
#pragma once

/// An integer next to a number. Adding 1.5 * 2^23 rounds to an integer, which then is in the low
/// bits. With a bias, it is the exponent of a power of two: a shift to the place of the exponent
/// drops the other bits.
struct NextInteger {
  unsigned bits;
  float value;
  static __device__ __forceinline__ float shift(int bias) {
    return 0x1.8p+23f + static_cast<float>(bias);
  }
  /// For a number plus shift(bias). Integers above 128 become 128 if `is_limited`.
  __device__ __forceinline__ NextInteger(float shifted, int bias, bool is_limited = false) {
    const unsigned any = bits_of(shifted), most = bits_of(shift(bias) + 128.0f);
    bits = any < most || !is_limited ? any : most;
    value = as_float(bits) - shift(bias);
  }
  /// 2^value for values from -126 to 127, and 0 for -127. The bias must be 127.
  __device__ __forceinline__ float power() const { return as_float(bits << 23); }
  /// 2^value as a product of two powers of two, for values from -252 to 254. The bias must be 254.
  __device__ __forceinline__ float first_power() const {
    return as_float((bits << 22) & 0xff800000u);
  }
  __device__ __forceinline__ float second_power() const {
    return as_float((bits << 23) - bits_of(first_power()));
  }
};

/// a = exponent * ln 2 + rest, with |rest| <= ln 2 / 2.
struct BinaryExponent {
  NextInteger exponent;
  float rest;
  __device__ __forceinline__ explicit BinaryExponent(float a, int bias = 127,
                                                     bool is_limited = false)
      : exponent(fmaf(a, 0x1.715476p+0f, NextInteger::shift(bias)), bias, is_limited) {
    // The first part of ln 2 has few bits, so that the first result is exact.
    rest = fmaf(exponent.value, -0x1.62e4p-1f, a);
    rest = fmaf(exponent.value, -0x1.7f7d1cp-20f, rest);
  }
};

/// e^r - 1 for |r| <= ln 2 / 2: r + r^2 P(r).
__device__ __forceinline__ float expm1_near_zero(float r) {
  const float z = r * r;
  const float high = fmaf(0x1.6b9c66p-10f, z, fmaf(0x1.12254ap-7f, r, 0x1.5556f2p-5f));
  return fmaf(fmaf(high, z, fmaf(0x1.5554b4p-3f, r, 0x1.fffffep-2f)), z, r);
}

// Operands far outside of the range give any value before the last selection. It takes less time
// than limits for operands, because vector instructions can write zeros to lanes. Only the integer
// has an upper limit, above which polynomials of large operands overflow.

__device__ __forceinline__ float expf(float a) {
  const BinaryExponent parts(a, 254, true);
  const float power = parts.exponent.first_power();
  // The second factor rounds subnormal results once.
  const float result =
      fmaf(power, expm1_near_zero(parts.rest), power) * parts.exponent.second_power();
  return a < -104.0f ? 0.0f : result;
}

/// 2^r - 1 for |r| <= 1/2.
__device__ __forceinline__ float exp2m1_near_zero(float r) {
  const float high = fmaf(fmaf(0x1.41765ep-13f, r, 0x1.5f095ep-10f), r, 0x1.3b2dd6p-7f);
  return r * fmaf(fmaf(fmaf(high, r, 0x1.c6af7ap-5f), r, 0x1.ebfbdcp-3f), r, 0x1.62e430p-1f);
}
__device__ __forceinline__ float exp2f(float a) {
  const NextInteger exponent(a + NextInteger::shift(254), 254, true);
  const float power = exponent.first_power();
  const float result =
      fmaf(power, exp2m1_near_zero(a - exponent.value), power) * exponent.second_power();
  return a < -151.0f ? 0.0f : result;
}
/// 2^a for a < 127, but 0 for results below 2^-126.
__device__ __forceinline__ float exp2_or_zero(float a) {
  const NextInteger exponent(a + NextInteger::shift(127), 127);
  const float power = exponent.power();
  const float result = fmaf(power, exp2m1_near_zero(a - exponent.value), power);
  return a < -126.0f ? 0.0f : result;
}

__device__ __forceinline__ float expm1f(float a) {
  // Half of the result does not overflow below 89.
  const BinaryExponent parts(a, 126, true);
  const float half_power = parts.exponent.power();
  const float half = fmaf(half_power, expm1_near_zero(parts.rest), half_power - 0.5f);
  const float result = a < -18.0f ? -1.0f : 2.0f * half;
  return copysignf(result, a);
}

/// H / (H + 1) with H = (e^(2 |a|) - 1) / 2.
__device__ __forceinline__ float tanhf(float a) {
  const float x = fabsf(a);
  const NextInteger exponent(fmaf(x, 0x1.715476p+1f, NextInteger::shift(127)), 127);
  // expm1_near_zero(2 r) / 2, with coefficients times powers of two.
  const float r = fmaf(exponent.value, -0x1.62e430p-2f, x), z = r * r;
  const float high = fmaf(0x1.6b9c66p-5f, z, fmaf(0x1.12254ap-3f, r, 0x1.5556f2p-2f));
  const float near_zero = fmaf(fmaf(high, z, fmaf(0x1.5554b4p-1f, r, 0x1.fffffep-1f)), z, r);
  const float power = exponent.power();
  const float half = fmaf(power, near_zero, fmaf(power, 0.5f, -0.5f));
  const float magnitude = x > 9.02f ? 1.0f : half / (half + 1.0f);
  return copysignf(magnitude, a);
}

/// e^|a| - 1 in f64, with a relative error below 2^-35. |a| is at most 90, where f32 overflows.
__device__ __forceinline__ double wide_expm1(float a) {
  const float x = fabsf(a);
  const double magnitude = x > 90.0f ? 90.0f : x;
  const double shifted = fma(magnitude, 0x1.71547652b82fep+0, 0x1.8p+52);
  const double r = fma(magnitude, 0x1.71547652b82fep+0, 0x1.8p+52 - shifted);
  const double power = as_double((bits_of(shifted) - 0x4338000000000000ull + 1023) << 52);
  return fma(power, exp2_less_one(r), power - 1.0);
}
__device__ __forceinline__ float sinhf(float a) {
  const double less_one = wide_expm1(a);
  return copysignf(static_cast<float>(0.5 * (less_one + less_one / (less_one + 1.0))), a);
}
__device__ __forceinline__ float coshf(float a) {
  const double power = wide_expm1(a) + 1.0;
  return static_cast<float>(0.5 * power + 0.5 / power);
}
