// Loads and stores of partial and strided vectors, and conversions between the types in memory and
// the types of computation.
#pragma once

// The host device counts a load or store by the source line of its caller. Helpers pass it on.
#ifdef __CUDACC__
#define SINTER_SITE
#define SINTER_HERE
#else
#define SINTER_SITE , int site = __builtin_LINE()
#define SINTER_HERE , site
#endif
#if !defined(__CUDACC__) && !defined(SINTER_COUNT)
#define SINTER_COPIES_WHOLE  // a part of a vector by one call of memcpy
#endif

/// The first `count` of N elements. The others are zero.
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_some(const T* pointer, Index index,
                                                  int count SINTER_SITE) {
  if (count == N) return load<N>(pointer, index SINTER_HERE);
  Vector<T, N> value{};
#ifdef SINTER_COPIES_WHOLE
  if (count > 0)
    __builtin_memcpy(&value, pointer + index, static_cast<unsigned>(count) * sizeof(T));
#else
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (i < count) value[i] = load(pointer, index + i SINTER_HERE);
#endif
  return value;
}
template <int N, class T, class Index>
__device__ __forceinline__ void store_some(T* pointer, Index index, const Vector<T, N>& value,
                                           int count SINTER_SITE) {
  if (count == N) {
    store<N>(pointer, index, value SINTER_HERE);
    return;
  }
#ifdef SINTER_COPIES_WHOLE
  if (count > 0)
    __builtin_memcpy(pointer + index, &value, static_cast<unsigned>(count) * sizeof(T));
#else
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (i < count) store(pointer, index + i, value[i] SINTER_HERE);
#endif
}

/// N elements with stride `step`, of which the first `count` exist.
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_apart(const T* pointer, Index index, Index step,
                                                   int count SINTER_SITE) {
  Vector<T, N> value{};
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (i < count) value[i] = load(pointer, index + i * step SINTER_HERE);
  return value;
}
template <int N, class T, class Index>
__device__ __forceinline__ void store_apart(T* pointer, Index index, Index step,
                                            const Vector<T, N>& value, int count SINTER_SITE) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (i < count) store(pointer, index + i * step, value[i] SINTER_HERE);
}

/// M vectors of N elements with stride `step`. The vectors are adjacent in memory, so the M
/// elements with the same position in them are loaded at once.
template <int N, int M, class T, class Index>
__device__ __forceinline__ void load_across(Vector<T, N> (&vectors)[M], const T* pointer,
                                            Index index, Index step SINTER_SITE) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const Vector<T, M> adjacent = load<M>(pointer, index + i * step SINTER_HERE);
#pragma unroll
    for (int j = 0; j < M; ++j) vectors[j][i] = adjacent[j];
  }
}
template <int N, int M, class T, class Index>
__device__ __forceinline__ void store_across(T* pointer, Index index, Index step,
                                             const Vector<T, N> (&vectors)[M] SINTER_SITE) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    Vector<T, M> adjacent;
#pragma unroll
    for (int j = 0; j < M; ++j) adjacent[j] = vectors[j][i];
    store<M>(pointer, index + i * step, adjacent SINTER_HERE);
  }
}

/// N adjacent elements as aligned vectors of `Each`. The first `count` exist, a multiple of `Each`.
template <int N, int Each, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_by(const T* pointer, Index index,
                                                int count SINTER_SITE) {
  Vector<T, N> value{};
#pragma unroll
  for (int i = 0; i < N; i += Each) {
    if (i >= count) continue;
    const Vector<T, Each> some = load<Each>(pointer, index + i SINTER_HERE);
#pragma unroll
    for (int j = 0; j < Each; ++j) value[i + j] = some[j];
  }
  return value;
}
template <int N, int Each, class T, class Index>
__device__ __forceinline__ void store_by(T* pointer, Index index, const Vector<T, N>& value,
                                         int count SINTER_SITE) {
#pragma unroll
  for (int i = 0; i < N; i += Each) {
    if (i >= count) continue;
    Vector<T, Each> some;
#pragma unroll
    for (int j = 0; j < Each; ++j) some[j] = value[i + j];
    store<Each>(pointer, index + i, some SINTER_HERE);
  }
}

/// Sets `Each` elements from `first` on: to the elements of `some`, or all of them to `same`.
template <class T, int N, int Each>
__device__ __forceinline__ void put(Vector<T, N>& value, int first, const Vector<T, Each>& some) {
#pragma unroll
  for (int j = 0; j < Each; ++j) value[first + j] = some[j];
}
template <int Each, class T, int N>
__device__ __forceinline__ void put_same(Vector<T, N>& value, int first, T same) {
#pragma unroll
  for (int j = 0; j < Each; ++j) value[first + j] = same;
}

// From memory to computation. A narrow value is computed with as the float of equal value.
__device__ __forceinline__ float from_memory(f16 value) { return to_float(value); }
__device__ __forceinline__ float from_memory(bf16 value) { return to_float(value); }
__device__ __forceinline__ float from_memory(f8e4m3 value) { return to_float(value); }
__device__ __forceinline__ float from_memory(f8e5m2 value) { return to_float(value); }
__device__ __forceinline__ float from_memory(c64 value) { return to_float(value); }
template <class T>
__device__ __forceinline__ T from_memory(T value) {
  return value;
}

// From computation to memory.
template <class To>
struct Convert {
  template <class T>
  static __device__ __forceinline__ To from(T value) {
    return value;
  }
};
template <>
struct Convert<f16> {
  template <class T>
  static __device__ __forceinline__ f16 from(T value) {
    return to_f16(value);
  }
};
template <>
struct Convert<bf16> {
  template <class T>
  static __device__ __forceinline__ bf16 from(T value) {
    return to_bf16(value);
  }
};
template <>
struct Convert<f8e4m3> {
  template <class T>
  static __device__ __forceinline__ f8e4m3 from(T value) {
    return {Float8E4M3::encode(float_rounded_to_odd(value))};
  }
};
template <>
struct Convert<f8e5m2> {
  template <class T>
  static __device__ __forceinline__ f8e5m2 from(T value) {
    return {Float8E5M2::encode(float_rounded_to_odd(value))};
  }
};
template <>
struct Convert<c64> {
  template <class T>
  static __device__ __forceinline__ c64 from(T value) {
    return {static_cast<float>(value), 0.0f};
  }
};
template <class To, class T>
__device__ __forceinline__ To to_memory(T value) {
  return Convert<To>::from(value);
}

/// `value` rounded to odd: a double that rounds to every narrower type as `value` itself does. If
/// bits are lost, the lowest remaining bit is set.
__device__ __forceinline__ double to_odd(long long value) {
  const bool is_wide = value > (1ll << 53) || value < -(1ll << 53);
  const long long low = value & 2047;
  return static_cast<double>(is_wide && low != 0 ? (value - low) | 2048 : value);
}
__device__ __forceinline__ double to_odd(unsigned long long value) {
  const bool is_wide = value > (1ull << 53);
  const unsigned long long low = value & 4095;
  return static_cast<double>(is_wide && low != 0 ? (value - low) | 4096 : value);
}

/// `value` rounded to a narrow type, as the float of equal value.
template <class Half, class T>
__device__ __forceinline__ float rounded_cast(T value) {
  return to_float(Convert<Half>::from(value));
}
/// The same for the result of an op on numbers of that type.
template <class Half>
struct Rounding {
  template <class T>
  static __device__ __forceinline__ float of(T value) {
    return rounded_cast<Half>(value);
  }
};
#ifndef __CUDACC__
// In 32 bits, because vectors of 16 bits would need conversions. NaN needs no care: a NaN among the
// operands has zeros in its lower half, and so has the one that an operation creates.
template <>
struct Rounding<bf16> {
  static __device__ __forceinline__ float of(float value) {
    const unsigned word = bits_of(value);
    return as_float((word + 0x7fffu + ((word >> 16) & 1)) & 0xffff0000u);
  }
  static __device__ __forceinline__ float of(double value) { return rounded_cast<bf16>(value); }
};
#endif
template <class Half, class T>
__device__ __forceinline__ float rounded(T value) {
  return Rounding<Half>::of(value);
}

#ifndef __CUDACC__
/// The conversion to memory of a number that the narrow type represents.
template <class Half>
struct ExactConvert {
  static __device__ __forceinline__ Half from(float value) { return Convert<Half>::from(value); }
};
template <>
struct ExactConvert<bf16> {
  static __device__ __forceinline__ bf16 from(float value) {
    return {static_cast<unsigned short>(bits_of(value) >> 16)};
  }
};
template <class Half>
__device__ __forceinline__ Half exact_to_memory(float value) {
  return ExactConvert<Half>::from(value);
}
#endif
