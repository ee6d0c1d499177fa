// Arithmetic that C++ leaves undefined or that the C library does otherwise: wrapping integers,
// NaN-propagating extremes, saturating casts.
#pragma once

template <class T>
struct Unsigned;
template <>
struct Unsigned<int> {
  using Type = unsigned;
};
template <>
struct Unsigned<long long> {
  using Type = unsigned long long;
};

template <class T>
__device__ __forceinline__ T wrapping_add(T a, T b) {
  using U = typename Unsigned<T>::Type;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <class T>
__device__ __forceinline__ T wrapping_sub(T a, T b) {
  using U = typename Unsigned<T>::Type;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
template <class T>
__device__ __forceinline__ T wrapping_mul(T a, T b) {
  using U = typename Unsigned<T>::Type;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}
template <class T>
__device__ __forceinline__ T wrapping_neg(T a) {
  return wrapping_sub(T(0), a);
}
template <class T>
__device__ __forceinline__ T wrapping_abs(T a) {
  return a < 0 ? wrapping_neg(a) : a;
}

__device__ __forceinline__ bool is_negative(float value) { return (bits_of(value) >> 31) != 0; }
__device__ __forceinline__ bool is_negative(double value) { return (bits_of(value) >> 63) != 0; }

// NaN if either is NaN; -0 is below +0.
template <class T>
__device__ __forceinline__ T maximum_of_floats(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return is_negative(a) ? b : a;
  return a > b ? a : b;
}
template <class T>
__device__ __forceinline__ T minimum_of_floats(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return is_negative(a) ? a : b;
  return a < b ? a : b;
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
__device__ __forceinline__ float maximum(float a, float b) { return maximum_of_floats(a, b); }
__device__ __forceinline__ float minimum(float a, float b) { return minimum_of_floats(a, b); }
#endif
__device__ __forceinline__ double maximum(double a, double b) { return maximum_of_floats(a, b); }
__device__ __forceinline__ double minimum(double a, double b) { return minimum_of_floats(a, b); }
__device__ __forceinline__ int maximum(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ int minimum(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ long long maximum(long long a, long long b) { return a > b ? a : b; }
__device__ __forceinline__ long long minimum(long long a, long long b) { return a < b ? a : b; }

// The ends of each type: what an empty maximum or minimum gives.
template <class T>
struct Ends;
template <>
struct Ends<float> {
  static __device__ __forceinline__ float lowest() { return as_float(0xff800000u); }
  static __device__ __forceinline__ float highest() { return as_float(0x7f800000u); }
};
template <>
struct Ends<double> {
  static __device__ __forceinline__ double lowest() { return as_double(0xfff0000000000000ull); }
  static __device__ __forceinline__ double highest() { return as_double(0x7ff0000000000000ull); }
};
template <>
struct Ends<int> {
  static __device__ __forceinline__ int lowest() { return -2147483647 - 1; }
  static __device__ __forceinline__ int highest() { return 2147483647; }
};
template <>
struct Ends<long long> {
  static __device__ __forceinline__ long long lowest() { return -9223372036854775807ll - 1; }
  static __device__ __forceinline__ long long highest() { return 9223372036854775807ll; }
};

/// Towards zero; NaN gives 0, what is out of range the nearest end.
template <class To, class T>
__device__ __forceinline__ To to_integer(T value) {
  if (value != value) return 0;
  // 2^(bits - 1) is a float, the largest integer is not: compare with the former.
  const T limit = sizeof(To) == 4 ? T(2147483648.0) : T(9223372036854775808.0);
  if (value >= limit) return Ends<To>::highest();
  if (value < -limit) return Ends<To>::lowest();
  return truncated<To>(value);
}

/// An index as it was read: negative ones count from the end, the others are clamped.
template <class Index, class T>
__device__ __forceinline__ Index wrapped_index(T index, Index extent) {
  const long long from_front = index < 0 ? static_cast<long long>(index) + extent : index;
  if (from_front < 0) return 0;
  return from_front < extent ? static_cast<Index>(from_front) : extent - 1;
}
