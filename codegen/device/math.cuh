// Arithmetic that C++ leaves undefined or that the C library defines differently: wrapping
// integers, NaN-propagating maxima and minima, saturating casts.
#pragma once

// The unsigned type in which T wraps. At least `unsigned`, because C++ promotes narrower types to
// int.
template <class T, int kBytes = sizeof(T)>
struct Unsigned {
  using Type = unsigned;
};
template <class T>
struct Unsigned<T, 8> {
  using Type = unsigned long long;
};
template <class T>
__device__ constexpr bool is_signed_type() {
  return static_cast<T>(-1) < static_cast<T>(0);
}
template <class T>
__device__ constexpr int bits_of_type() {
  return static_cast<int>(8 * sizeof(T));
}

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
  return wrapping_sub(static_cast<T>(0), a);
}
template <class T>
__device__ __forceinline__ T wrapping_abs(T a) {
  if constexpr (is_signed_type<T>()) return a < 0 ? wrapping_neg(a) : a;
  return a;
}

__device__ __forceinline__ bool is_negative(float value) { return (bits_of(value) >> 31) != 0; }
__device__ __forceinline__ bool is_negative(double value) { return (bits_of(value) >> 63) != 0; }
template <class T>
__device__ __forceinline__ bool is_negative(T value) {
  if constexpr (is_signed_type<T>()) return value < 0;
  return false;
}

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
#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800)
__device__ __forceinline__ float maximum(float a, float b) { return maximum_of_floats(a, b); }
__device__ __forceinline__ float minimum(float a, float b) { return minimum_of_floats(a, b); }
#endif
__device__ __forceinline__ double maximum(double a, double b) { return maximum_of_floats(a, b); }
__device__ __forceinline__ double minimum(double a, double b) { return minimum_of_floats(a, b); }
template <class T>
__device__ __forceinline__ T maximum(T a, T b) {
  return a > b ? a : b;
}
template <class T>
__device__ __forceinline__ T minimum(T a, T b) {
  return a < b ? a : b;
}

// The ends of each type's range: the results of an empty minimum and maximum.
template <class T>
struct Ends {
  static __device__ __forceinline__ T highest() {
    using U = typename Unsigned<T>::Type;
    const int unused = static_cast<int>(8 * sizeof(U)) - bits_of_type<T>();
    const U all = ~static_cast<U>(0) >> unused;
    return static_cast<T>(is_signed_type<T>() ? all >> 1 : all);
  }
  static __device__ __forceinline__ T lowest() { return static_cast<T>(~highest()); }
};
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
/// Rounds towards zero. NaN gives 0. Values out of range give the nearest end of the range.
template <class To, class T>
__device__ __forceinline__ To to_integer(T value) {
  if (value != value) return 0;
  // Compare with 2^bits, which T represents exactly. It may not represent the largest integer.
  constexpr int kBits = bits_of_type<To>() - (is_signed_type<To>() ? 1 : 0);
  constexpr T kLimit = static_cast<T>(1ull << (kBits - 1)) * 2;
  if (value >= kLimit) return Ends<To>::highest();
  if (is_signed_type<To>() ? value < -kLimit : value < 0) return Ends<To>::lowest();
  return truncated<To>(value);
}

/// Bounds a loaded index. Negative ones count from the end; then the result is clamped.
template <class Index, class T>
__device__ __forceinline__ Index wrapped_index(T index, Index extent) {
  const long long from_front = index < 0 ? static_cast<long long>(index) + extent : index;
  if (from_front < 0) return 0;
  return from_front < extent ? static_cast<Index>(from_front) : extent - 1;
}
