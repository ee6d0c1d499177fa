// Sine, cosine and tangent of f32 for the host device, without branches or calls.
#pragma once

/// 2 / pi less multiples of 4 / 2^least_bit, which add whole turns to the product with a number
/// whose lowest bit is 2^least_bit. In three parts. The first and the second have 28 bits, so that
/// their products with a float are exact. GCC makes no vector code of a table.
struct TwoOverPi {
  __device__ __forceinline__ static double first(int least_bit) {
    const double low = least_bit < 27 ? 0x1.45f307p-1 : -0x1.1b1bbe8p-28;
    const double high = least_bit < 81 ? 0x1.4a7f09cp-54 : -0x1.505c158p-81;
    return least_bit < 54 ? low : high;
  }
  __device__ __forceinline__ static double second(int least_bit) {
    const double low = least_bit < 27 ? -0x1.1b1bbecp-28 : -0x1.6b01ec4p-55;
    const double high = least_bit < 81 ? 0x1.5f47d4cp-82 : -0x1.6447e48p-109;
    return least_bit < 54 ? low : high;
  }
  __device__ __forceinline__ static double third(int least_bit) {
    const double low = least_bit < 27 ? 0x1.29fc2757d1f53p-56 : -0x1.4170565911f92p-83;
    const double high = least_bit < 81 ? 0x1.377036d8a5665p-110 : -0x1.3ad4cd8778df8p-137;
    return least_bit < 54 ? low : high;
  }
};

/// a = quadrant * pi / 2 + rest, with |rest| <= pi / 4. Payne and Hanek, "Radian reduction for
/// trigonometric functions" (1983), without another path for small numbers: a loop with two paths
/// is no vector code.
struct Quadrant {
  unsigned number;  // modulo 4
  double rest;
  __device__ __forceinline__ explicit Quadrant(float a) {
    const int least_bit = static_cast<int>((bits_of(a) >> 23) & 0xffu) - 150;
    const double wide = a;
    // Adding 1.5 * 2^52 rounds to an integer, which then is in the low bits.
    const double first = TwoOverPi::first(least_bit);
    const double first_shifted = fma(wide, first, 0x1.8p+52);
    const double first_rest = fma(wide, first, 0x1.8p+52 - first_shifted);
    const double second = TwoOverPi::second(least_bit);
    const double second_shifted = fma(wide, second, 0x1.8p+52);
    const double second_rest = fma(wide, second, 0x1.8p+52 - second_shifted);
    const double shifted = (first_rest + second_rest) + 0x1.8p+52;
    // The sum is exact where it is small, so the result has all bits there, too.
    const double turn = (first_rest - (shifted - 0x1.8p+52)) + second_rest;
    number = static_cast<unsigned>(bits_of(first_shifted)) +
             static_cast<unsigned>(bits_of(second_shifted)) +
             static_cast<unsigned>(bits_of(shifted));
    const double reduced = fma(wide, TwoOverPi::third(least_bit), turn) * 0x1.921fb54442d18p+0;
    rest = a == 0.0f ? wide : reduced;  // keeps the sign of -0
  }
};

__device__ __forceinline__ float sine_of_quadrant(float r, unsigned quadrant) {
  const float z = r * r;
  const float cubic = fmaf(fmaf(-0x1.9953p-13f, z, 0x1.110776p-7f), z, -0x1.555546p-3f);
  const float sine = copysignf(fmaf(r * z, cubic, r), r);  // also for -0
  const float high = fmaf(fmaf(0x1.99e80cp-16f, z, -0x1.6c0c28p-10f), z, 0x1.55554ap-5f);
  const float cosine = fmaf(fmaf(high, z, -0.5f), z, 1.0f);
  const float result = quadrant & 1u ? cosine : sine;
  return as_float(bits_of(result) ^ ((quadrant & 2u) << 30));
}
__device__ __forceinline__ float sinf(float a) {
  const Quadrant parts(a);
  return sine_of_quadrant(static_cast<float>(parts.rest), parts.number);
}
__device__ __forceinline__ float cosf(float a) {
  const Quadrant parts(a);
  return sine_of_quadrant(static_cast<float>(parts.rest), parts.number + 1u);
}
__device__ __forceinline__ float tanf(float a) {
  const Quadrant parts(a);
  const double r = parts.rest, z = r * r;
  const double cubic = fma(fma(-0x1.9953p-13, z, 0x1.110776p-7), z, -0x1.555546p-3);
  const double sine = fma(r * z, cubic, r);
  const double high = fma(fma(0x1.99e80cp-16, z, -0x1.6c0c28p-10), z, 0x1.55554ap-5);
  const double cosine = fma(fma(high, z, -0.5), z, 1.0);
  const bool is_odd = (parts.number & 1u) != 0;
  const double above = is_odd ? -cosine : copysign(sine, r);  // also for -0
  return static_cast<float>(above / (is_odd ? sine : cosine));
}
