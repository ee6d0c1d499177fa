// Special functions that CUDA or the C library lacks: the inverse error function for the host
// device, digamma for both.
#pragma once

#ifndef __CUDACC__

extern "C" long double erfl(long double);
extern "C" long double erfcl(long double);

/// erf(y) - x. Uses erfc if |x| >= 1/2, because 1 - |x| is exact there.
__device__ __forceinline__ double erf_less(double y, double x) {
  if (fabs(x) < 0.5) return erf(y) - x;
  return copysign(1.0, x) * (1 - fabs(x) - erfc(fabs(y)));
}
__device__ __forceinline__ long double wide_erf_less(double y, double x) {
  if (fabs(x) < 0.5) return erfl(y) - x;
  return copysign(1.0, x) * (1 - fabs(x) - erfcl(fabs(y)));
}

/// erfinv to twelve digits for |x| < 1. Winitzki, "A handy approximation for the error function and
/// its inverse" (2008), is within 0.2 percent. Each of two steps of Halley's method then triples
/// the digits. The second derivative of erf is -2 y times the first.
__device__ __forceinline__ double rough_erfinv(double x) {
  const double half_root_of_pi = 0.886226925452758;
  if (fabs(x) < 0x1p-20) return x * half_root_of_pi;
  const double a = 0.147;
  const double w = -log1p(-x * x);
  const double t = 2 / (3.141592653589793 * a) - w / 2;
  double y = copysign(sqrt(w / a / (sqrt(t * t + w / a) + t)), x);
  for (int i = 0; i < 2; ++i) {
    const double step = erf_less(y, x) * (half_root_of_pi * exp(y * y));
    y -= step / (1 + y * step);
  }
  return y;
}

/// The y with erf(y) = x. Infinite at -1 and 1, NaN beyond. CUDA has functions of these names.
__device__ __forceinline__ float erfinvf(float x) {
  if (fabsf(x) < 1) return static_cast<float>(rough_erfinv(x));
  return fabsf(x) == 1 ? x * Ends<float>::highest() : as_float(0x7fc00000u);
}
__device__ __forceinline__ double erfinv(double x) {
  if (fabs(x) < 1) {
    const double y = rough_erfinv(x);  // a step of Newton's method then gives all digits
    return static_cast<double>(y - wide_erf_less(y, x) * (0.886226925452758 * exp(y * y)));
  }
  return fabs(x) == 1 ? x * Ends<double>::highest() : as_double(0x7ff8000000000000ull);
}

#endif

/// The series for digamma from `kFrom` on: log x - 1 / (2 x) - sum of B_2k / (2k x^2k), Abramowitz
/// and Stegun 6.3.18. It has as many terms as the precision of T needs.
template <class T>
struct DigammaSeries;
template <>
struct DigammaSeries<float> {
  static constexpr int kFrom = 4;
  static __device__ __forceinline__ float log(float x) { return logf(x); }
  static __device__ __forceinline__ float sum(float z) {  // z is 1 / x^2
    const float high = 3.96825397e-3f + z * -4.16666667e-3f;
    return z * (8.33333333e-2f + z * (-8.33333333e-3f + z * high));
  }
};
template <>
struct DigammaSeries<double> {
  static constexpr int kFrom = 10;
  static __device__ __forceinline__ double log(double x) { return ::log(x); }
  static __device__ __forceinline__ double sum(double z) {
    const double high =
        7.5757575757575758e-3 + z * (-2.1092796092796093e-2 + z * 8.3333333333333333e-2);
    return z * (8.3333333333333333e-2 +
                z * (-8.3333333333333333e-3 +
                     z * (3.9682539682539683e-3 + z * (-4.1666666666666667e-3 + z * high))));
  }
};

/// digamma for x >= 0 and NaN. Below `kFrom`, digamma(x) = digamma(x + n) - sum of 1 / (x + k) over
/// 0 <= k < n (6.3.6). Small terms are added first to keep precision.
template <class T>
__device__ __forceinline__ T digamma_from_zero(T x) {
  using Series = DigammaSeries<T>;
  const int steps = x < Series::kFrom ? Series::kFrom - static_cast<int>(x) : 0;
  const T shifted = x + steps;
  T below_log = Series::sum(1 / (shifted * shifted)) + T(0.5) / shifted;
  for (int k = steps - 1; k > 0; --k) below_log += 1 / (x + k);
  const T result = Series::log(shifted) - below_log;
  return steps > 0 ? result - 1 / x : result;
}

/// The derivative of lgamma: -inf at 0, inf at -0, NaN at the other poles and at -inf.
__device__ __forceinline__ double digamma(double x) {
  if (!(x < 0)) return digamma_from_zero(x);
  // Reflection (6.3.7): digamma(1 - x) - pi / tan(pi x). tan(pi x) has period 1, and r is exact.
  // The smaller one of |r| and its complement gives the more precise cotangent.
  const double pi = 3.141592653589793;
  const double r = x - rint(x);
  if (r == 0) return as_double(0x7ff8000000000000ull);
  const double complement = copysign(0.5 - fabs(r), r);
  const double cotangent = fabs(r) < 0.25 ? pi / tan(pi * r) : pi * tan(pi * complement);
  return digamma_from_zero(1 - x) - cotangent;
}
/// Computes in double below 0, because two large terms may cancel there.
__device__ __forceinline__ float digamma(float x) {
  return x < 0 ? static_cast<float>(digamma(static_cast<double>(x))) : digamma_from_zero(x);
}
__device__ __forceinline__ float digammaf(float x) { return digamma(x); }
