// The prelude's primitives for CUDA: the code that differs between NVRTC and the host device's
// compiler. Includes no header, so that a cold kernel compiles in tens of milliseconds.
#pragma once

// ---- Bits ----

__device__ __forceinline__ float as_float(unsigned bits) { return __uint_as_float(bits); }
__device__ __forceinline__ double as_double(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
__device__ __forceinline__ unsigned bits_of(float value) { return __float_as_uint(value); }
__device__ __forceinline__ unsigned long long bits_of(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(value));
}

// The compiler cannot fold through these. tanhf of a literal must give the same bits as tanhf of a
// variable.
__device__ __forceinline__ float opaque_value(float value) {
  asm volatile("" : "+f"(value));
  return value;
}
__device__ __forceinline__ double opaque_value(double value) {
  asm volatile("" : "+d"(value));
  return value;
}

/// The upper half of a product.
__device__ __forceinline__ unsigned high_product(unsigned a, unsigned b) { return __umulhi(a, b); }
__device__ __forceinline__ int ones_of(unsigned long long bits) {
  return __popcll(static_cast<long long>(bits));
}
__device__ __forceinline__ int lowest_one_of(unsigned bits) {
  return __ffs(static_cast<int>(bits)) - 1;
}
__device__ __forceinline__ int leading_zeros_of(unsigned long long bits) {
  return __clzll(static_cast<long long>(bits));
}

/// Rounds towards zero. The value must be in range.
template <class To, class T>
__device__ __forceinline__ To truncated(T value) {
  return static_cast<To>(value);
}

// ---- Hardware approximations, for Math::fast ----

__device__ __forceinline__ float fast_exp(float a) { return __expf(a); }
__device__ __forceinline__ float fast_exp2(float a) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}
// Takes one instruction: 0 if the result is below the smallest normal number.
__device__ __forceinline__ float exp2_or_zero(float a) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}
__device__ __forceinline__ float fast_log(float a) { return __logf(a); }
__device__ __forceinline__ float fast_log2(float a) { return __log2f(a); }
__device__ __forceinline__ float fast_sin(float a) { return __sinf(a); }
__device__ __forceinline__ float fast_cos(float a) { return __cosf(a); }
__device__ __forceinline__ float fast_tan(float a) { return __tanf(a); }
__device__ __forceinline__ float fast_pow(float a, float b) { return __powf(a, b); }
__device__ __forceinline__ float fast_divide(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ float fast_tanh(float a) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}

// ---- Half types ----

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_float(f16 half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half.bits));
  return value;
}
__device__ __forceinline__ float to_float(bf16 half) {
  return as_float(static_cast<unsigned>(half.bits) << 16);
}
__device__ __forceinline__ f16 to_f16(float value) {
  f16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(value));
  return half;
}
__device__ __forceinline__ bf16 to_bf16(float value) {
#if __CUDA_ARCH__ >= 800
  bf16 half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half.bits) : "f"(value));
  return half;
#else
  const unsigned word = bits_of(value);
  const unsigned rounded = (word + 0x7fffu + ((word >> 16) & 1)) >> 16;
  return {static_cast<unsigned short>(value != value ? (word >> 16) | 0x40u : rounded)};
#endif
}
__device__ __forceinline__ f16 to_f16(double value) {
  f16 half;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half.bits) : "d"(value));
  return half;
}
// Rounds to odd first: the last bit is sticky, so that the result is rounded once.
__device__ __forceinline__ bf16 to_bf16(double value) {
  const float towards_zero = __double2float_rz(value);
  const bool is_exact = static_cast<double>(towards_zero) == value || value != value;
  return to_bf16(as_float(bits_of(towards_zero) | (is_exact ? 0u : 1u)));
}

// ---- Maximum and minimum ----

// From sm_80 on, one instruction propagates NaN and orders -0 below +0.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ float maximum(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ float minimum(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
#endif

// ---- Memory ----

template <class T, int N>
struct alignas(N * sizeof(T) > 16 ? 16 : N * sizeof(T)) Vector {
  T data[N];
  __device__ __forceinline__ T& operator[](int i) { return data[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return data[i]; }
};

// The type of one memory access of `Bytes` bytes.
template <int Bytes>
struct Word;
template <>
struct Word<16> {
  using Type = uint4;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<4> {
  using Type = unsigned;
};
template <>
struct Word<2> {
  using Type = unsigned short;
};
template <>
struct Word<1> {
  using Type = unsigned char;
};

// A vector as the fewest possible accesses.
template <class T, int N>
union Words {
  static constexpr int kBytes = N * static_cast<int>(sizeof(T));
  static constexpr int kWord = kBytes > 16 ? 16 : kBytes;
  using Type = typename Word<kWord>::Type;
  Type words[kBytes / kWord];
  Vector<T, N> vector;
  __device__ __forceinline__ Words() {}
};

// Makes the compiler forget the converted values of a vector. It then keeps the narrow elements for
// later use, instead of the converted values in twice the registers or more.
template <class T, int N>
__device__ __forceinline__ void convert_again(Vector<T, N>& vector) {
  constexpr int kWords = N * static_cast<int>(sizeof(T)) / 4;
  if constexpr (kWords * 4 == N * sizeof(T)) {
    union Kept {
      unsigned words[kWords];
      Vector<T, N> vector;
      __device__ __forceinline__ Kept() {}
    } kept;
    kept.vector = vector;
#pragma unroll
    for (int i = 0; i < kWords; ++i) asm("" : "+r"(kept.words[i]));
    vector = kept.vector;
  }
}

template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load(const T* pointer, Index index) {
  Words<T, N> value;
  const auto* from = reinterpret_cast<const typename Words<T, N>::Type*>(pointer + index);
#pragma unroll
  for (int i = 0; i < Words<T, N>::kBytes / Words<T, N>::kWord; ++i) value.words[i] = from[i];
  return value.vector;
}
// Loads with cache hints, of memory that nothing writes while the kernel runs. Volatile, so that
// NVVM does not move them in front of wait_for_prior_launches(). This does not bind ptxas.

// For data that is not read again: its cache lines are evicted first.
struct Streaming {
  static __device__ __forceinline__ void load(uint4& word, unsigned long long at) {
    asm volatile("ld.global.cs.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(at));
  }
  static __device__ __forceinline__ void load(uint2& word, unsigned long long at) {
    asm volatile("ld.global.cs.nc.v2.u32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "l"(at));
  }
  static __device__ __forceinline__ void load(unsigned& word, unsigned long long at) {
    asm volatile("ld.global.cs.nc.u32 %0, [%1];" : "=r"(word) : "l"(at));
  }
  static __device__ __forceinline__ void load(unsigned short& word, unsigned long long at) {
    asm volatile("ld.global.cs.nc.u16 %0, [%1];" : "=h"(word) : "l"(at));
  }
  static __device__ __forceinline__ void load(unsigned char& word, unsigned long long at) {
    unsigned wide;
    asm volatile("ld.global.cs.nc.u8 %0, [%1];" : "=r"(wide) : "l"(at));
    word = static_cast<unsigned char>(wide);
  }
};
// For data that this kernel reads again: its lines in the L2 cache are evicted last.
struct Retained {
#if __CUDA_ARCH__ >= 800
  static __device__ __forceinline__ unsigned long long policy() {
    unsigned long long made;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(made));
    return made;
  }
  static __device__ __forceinline__ void load(uint4& word, unsigned long long at) {
    asm volatile("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(at), "l"(policy()));
  }
  static __device__ __forceinline__ void load(uint2& word, unsigned long long at) {
    asm volatile("ld.global.nc.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                 : "=r"(word.x), "=r"(word.y)
                 : "l"(at), "l"(policy()));
  }
  static __device__ __forceinline__ void load(unsigned& word, unsigned long long at) {
    asm volatile("ld.global.nc.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(word)
                 : "l"(at), "l"(policy()));
  }
  static __device__ __forceinline__ void load(unsigned short& word, unsigned long long at) {
    asm volatile("ld.global.nc.L2::cache_hint.u16 %0, [%1], %2;"
                 : "=h"(word)
                 : "l"(at), "l"(policy()));
  }
  static __device__ __forceinline__ void load(unsigned char& word, unsigned long long at) {
    unsigned wide;
    asm volatile("ld.global.nc.L2::cache_hint.u8 %0, [%1], %2;"
                 : "=r"(wide)
                 : "l"(at), "l"(policy()));
    word = static_cast<unsigned char>(wide);
  }
#else
  template <class Word>
  static __device__ __forceinline__ void load(Word& word, unsigned long long at) {
    word = *reinterpret_cast<const Word*>(at);
  }
#endif
};
template <class Cached, int N, class T>
__device__ __forceinline__ Vector<T, N> load_cached(const T* pointer) {
  Words<T, N> value;
  const auto at = reinterpret_cast<unsigned long long>(pointer);
#pragma unroll
  for (int i = 0; i < Words<T, N>::kBytes / Words<T, N>::kWord; ++i)
    Cached::load(value.words[i], at + i * Words<T, N>::kWord);
  return value.vector;
}
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_streaming(const T* pointer, Index index) {
  return load_cached<Streaming, N>(pointer + index);
}
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_retained(const T* pointer, Index index) {
  return load_cached<Retained, N>(pointer + index);
}
template <class T, class Index>
__device__ __forceinline__ T load_streaming(const T* pointer, Index index) {
  return load_streaming<1>(pointer, index)[0];
}
template <class T, class Index>
__device__ __forceinline__ T load_retained(const T* pointer, Index index) {
  return load_retained<1>(pointer, index)[0];
}
// For CPUs:
template <int N, class T, class Index>
__device__ __forceinline__ void prefetch(const T*, Index) {}
template <int N, class T, class Index>
__device__ __forceinline__ void prefetch_for_store(const T*, Index) {}
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_view(const T* pointer, Index index) {
  return load<N>(pointer, index);
}
template <class T, class Index>
__device__ __forceinline__ T load(const T* pointer, Index index) {
  return pointer[index];
}
template <int N, class T, class Index>
__device__ __forceinline__ void store(T* pointer, Index index, const Vector<T, N>& value) {
  Words<T, N> from;
  from.vector = value;
  auto* to = reinterpret_cast<typename Words<T, N>::Type*>(pointer + index);
#pragma unroll
  for (int i = 0; i < Words<T, N>::kBytes / Words<T, N>::kWord; ++i) to[i] = from.words[i];
}
template <class T, class Index>
__device__ __forceinline__ void store(T* pointer, Index index, T value) {
  pointer[index] = value;
}

// Scratch memory that blocks share within a launch. Accesses bypass L1, which is not coherent.
// Types with a larger alignment use wider accesses.
template <class T>
union Scratch {
  static_assert(sizeof(T) % 4 == 0, "states are made of words");
  static constexpr int kWord = alignof(T) > 16 ? 16 : alignof(T) < 4 ? 4 : alignof(T);
  static constexpr int kWords = static_cast<int>(sizeof(T)) / kWord;
  typename Word<kWord>::Type words[kWords];
  T value;
};
template <class T>
__device__ __forceinline__ T load_workspace(const T* pointer, long long index) {
  Scratch<T> result;
  const auto* from =
      reinterpret_cast<const typename Word<Scratch<T>::kWord>::Type*>(pointer + index);
#pragma unroll
  for (int i = 0; i < Scratch<T>::kWords; ++i) result.words[i] = __ldcg(from + i);
  return result.value;
}
template <class T>
__device__ __forceinline__ void store_workspace(T* pointer, long long index, T value) {
  Scratch<T> from;
  from.value = value;
  auto* to = reinterpret_cast<typename Word<Scratch<T>::kWord>::Type*>(pointer + index);
#pragma unroll
  for (int i = 0; i < Scratch<T>::kWords; ++i) __stcg(to + i, from.words[i]);
}

// ---- Threads of a block ----

__device__ __forceinline__ void block_barrier() { __syncthreads(); }

template <class T>
__device__ __forceinline__ T warp_xor(T value, int lane_mask) {
  static_assert(sizeof(T) % 4 == 0, "a lane hands over whole words");
  union {
    unsigned words[sizeof(T) / 4];
    T value;
  } exchanged;
  exchanged.value = value;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i)
    exchanged.words[i] = __shfl_xor_sync(0xffffffffu, exchanged.words[i], lane_mask);
  return exchanged.value;
}

// A kernel may start while the previous one in the stream is still running. It accesses no memory
// before all earlier launches have ended and their stores are visible.
//
// The clobber and the word volatile bind NVVM, but not ptxas. It moves loads of read-only memory
// (ld.global.nc) in front of the wait, even across a block barrier behind it. It does not move
// loads across an exit that a thread may take. No thread takes this exit, since every grid has
// blocks, but ptxas does not know that. The runtime checks the machine code nevertheless
// (runtime/compile/early_start.h).
__device__ __forceinline__ void wait_for_prior_launches() {
#if __CUDA_ARCH__ >= 900
  unsigned blocks;
  asm volatile(
      "{ .reg .pred never; griddepcontrol.wait;"
      " mov.u32 %0, %%nctaid.x; setp.eq.u32 never, %0, 0; @never exit; }"
      : "=r"(blocks)::"memory");
#endif
}

__device__ __forceinline__ unsigned char* shared_memory() {
  extern __shared__ uint4 sinter_shared[];
  return reinterpret_cast<unsigned char*>(sinter_shared);
}
