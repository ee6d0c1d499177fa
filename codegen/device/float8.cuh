// The f8 types (OCP 8-bit floating point, revision 1.0) and c64 in memory, and conversions to and
// from float. Conversions to f8 round to nearest even. They saturate numbers, and keep infinities
// if the format has them.
#pragma once

struct f8e4m3 {
  unsigned char bits;
};
struct f8e5m2 {
  unsigned char bits;
};
struct c64 {
  float real;
  float imaginary;
};

/// A format with `kMantissa` stored mantissa bits, an exponent bias and a largest number.
template <int kMantissa, int kBias, int kLargest>
struct Float8 {
  static __device__ __forceinline__ unsigned char encode(float value) {
    const unsigned word = bits_of(value);
    const unsigned sign = (word >> 24) & 0x80u;
    const float magnitude = as_float(word & 0x7fffffffu);
    // The NaN of f8e4m3 is all ones. f8e5m2 has three NaNs; this one is used.
    if (value != value) return static_cast<unsigned char>(sign | (kMantissa == 3 ? 0x7fu : 0x7eu));
    if (magnitude >= kLargest) return static_cast<unsigned char>(sign | beyond_largest(magnitude));
    // Subnormal numbers: adding 2^23 subnormal steps makes the float adder round to a whole step.
    const float shift = as_float(static_cast<unsigned>(127 + 24 - kBias - kMantissa) << 23);
    const unsigned subnormal = bits_of(magnitude + shift) & 0xffu;
    const int dropped = 23 - kMantissa;
    const unsigned magnitude_word = word & 0x7fffffffu;
    const unsigned half = (1u << (dropped - 1)) - 1 + ((magnitude_word >> dropped) & 1u);
    const unsigned normal =
        ((magnitude_word + half) >> dropped) - (static_cast<unsigned>(127 - kBias) << kMantissa);
    const bool is_normal = magnitude_word >= static_cast<unsigned>(128 - kBias) << 23;
    return static_cast<unsigned char>(sign | (is_normal ? normal : subnormal));
  }
  static __device__ __forceinline__ float decode(unsigned char bits) {
    const unsigned sign = (static_cast<unsigned>(bits) & 0x80u) << 24;
    const unsigned magnitude = bits & 0x7fu;
    if (kMantissa == 3 ? magnitude == 0x7fu : magnitude > 0x7cu) return as_float(0x7fc00000u);
    if (kMantissa == 2 && magnitude == 0x7cu) return as_float(sign | 0x7f800000u);
    // A float with the same fields is too small by the factor 2^(127 - bias). Subnormal inputs are
    // subnormal floats, so the product is exact too.
    const float scale = as_float(static_cast<unsigned>(254 - kBias) << 23);
    return as_float(sign | bits_of(as_float(magnitude << (23 - kMantissa)) * scale));
  }

 private:
  static __device__ __forceinline__ unsigned beyond_largest(float magnitude) {
    if (kMantissa == 3) return 0x7eu;
    return magnitude == as_float(0x7f800000u) ? 0x7cu : 0x7bu;
  }
};
using Float8E4M3 = Float8<3, 7, 448>;
using Float8E5M2 = Float8<2, 15, 57344>;

__device__ __forceinline__ float to_float(f8e4m3 value) { return Float8E4M3::decode(value.bits); }
__device__ __forceinline__ float to_float(f8e5m2 value) { return Float8E5M2::decode(value.bits); }
__device__ __forceinline__ float to_float(c64 value) { return value.real; }

// Rounds to odd: the last bit is sticky, so that only the later conversion rounds.
__device__ __forceinline__ float float_rounded_to_odd(float value) { return value; }
__device__ __forceinline__ float float_rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const unsigned word = bits_of(nearest);
  if (back == value || value != value || (word & 1u)) return nearest;
  const bool is_above = value > 0 ? back > value : back < value;  // in magnitude
  return as_float(is_above ? word - 1 : word + 1);
}
