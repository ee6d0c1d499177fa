// Powers of f32 for the host device, without branches. They compute in f64, so that one rounding
// remains.
#pragma once

/// 2^r - 1 for |r| <= 1/2, with a relative error of 2^-40.
__device__ __forceinline__ double exp2_less_one(double r) {
  const double high =
      fma(fma(0x1.61c49fc005p-20, r, 0x1.00d89cf1046p-16), r, 0x1.430aa97e1bf80p-13);
  const double middle = fma(fma(high, r, 0x1.5d874c9b53d80p-10), r, 0x1.3b2ab5ec76a42p-7);
  const double low = fma(fma(middle, r, 0x1.c6b08dcf2914cp-5), r, 0x1.ebfbdff8eed64p-3);
  return r * fma(low, r, 0x1.62e42fef89b2bp-1);
}

/// log2 of a positive normal number, with a relative error of 2^-45.
__device__ __forceinline__ double wide_log2(double a) {
  const unsigned long long bits = bits_of(a);
  // The mantissa is in [sqrt(1/2), sqrt(2)).
  const unsigned long long shifted = bits - 0x3fe6a09e667f3bcdull;
  const double exponent = static_cast<int>(static_cast<long long>(shifted) >> 52);
  const double mantissa = as_double(bits - (shifted & 0xfff0000000000000ull));
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double z = s * s;
  const double high =
      fma(fma(0x1.21b8e1fa32ae0p-2, z, 0x1.4794c3b27c02cp-2), z, 0x1.a61a3289cbd4fp-2);
  const double middle = fma(fma(high, z, 0x1.2776c28e05a8dp-1), z, 0x1.ec709dc5421d8p-1);
  return fma(fma(middle, z, 0x1.71547652b8246p+1), s, exponent);
}

/// C's special values (C17, F.10.4.4): 1 for powers with exponent 0 and for powers of 1, NaN for
/// negative numbers to a power that is no integer.
__device__ __forceinline__ float powf(float a, float b) {
  const float magnitude = fabsf(a);
  const double at_zero = as_double(0xfff0000000000000ull);  // -inf
  const double positive = magnitude == 0.0f ? at_zero : wide_log2(magnitude);
  const double logarithm = magnitude > 0x1.fffffep+127f ? -at_zero : positive;
  double exponent = static_cast<double>(b) * logarithm;
  exponent = magnitude == 1.0f ? 0.0 : exponent;  // also if b is infinite
  exponent = exponent > 129.0 ? 129.0 : exponent;
  exponent = exponent < -151.0 ? -151.0 : exponent;
  const double shifted = exponent + 0x1.8p+52;
  const double r = exponent - (shifted - 0x1.8p+52);
  const double power = as_double((bits_of(shifted) - 0x4338000000000000ull + 1023) << 52);
  const float result = static_cast<float>(fma(power, exp2_less_one(r), power));
  const bool is_integer = floorf(b) == b;
  const bool is_odd = is_integer && floorf(0.5f * b) != 0.5f * b;
  const bool is_undefined = a < 0.0f && a >= -0x1.fffffep+127f && !is_integer;
  const float defined = is_undefined ? as_float(0x7fc00000u) : result;
  const float with_sign = is_odd ? copysignf(defined, a) : defined;
  const float with_nan = a != a || b != b ? as_float(0x7fc00000u) : with_sign;
  return a == 1.0f || b == 0.0f ? 1.0f : with_nan;
}

/// Two roundings: at most 1.5 ulp.
__device__ __forceinline__ float rsqrtf(float a) { return 1.0f / sqrtf(a); }
