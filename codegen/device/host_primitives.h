// The prelude's primitives for the host device: the code that differs between CUDA and the system's
// C++ compiler, under CUDA's names. Compiled in front of every host kernel, without any header.
#pragma once

#include "codegen/device/host_api.h"

#define __device__
#define SINTER_ALWAYS_INLINE inline __attribute__((always_inline))
#ifdef __OPTIMIZE__
#define __forceinline__ SINTER_ALWAYS_INLINE
#else  // without optimization, inlined copies would only cost compile time
#define __forceinline__ inline
#endif
#define __noinline__ __attribute__((noinline))
#define __global__ __forceinline__
#define __launch_bounds__(...)
#define __grid_constant__

static const sinter::device_abi::Services* sinter_services;
static thread_local sinter::device_abi::ThreadPosition sinter_position;

#define threadIdx (sinter_position.thread)
#define blockIdx (sinter_position.block->index)
#define blockDim (sinter_position.block->size)
#define gridDim (sinter_position.block->grid)

// ---- Bits ----

__device__ __forceinline__ float as_float(unsigned bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
__device__ __forceinline__ double as_double(unsigned long long bits) {
  double value;
  __builtin_memcpy(&value, &bits, 8);
  return value;
}
__device__ __forceinline__ unsigned bits_of(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
__device__ __forceinline__ unsigned long long bits_of(double value) {
  unsigned long long bits;
  __builtin_memcpy(&bits, &value, 8);
  return bits;
}
// A compiler may see the constants of this device. The functions in host_math fold to the bits that
// they compute. Flags of HostCompiler keep it from folding functions of the C library.
__device__ __forceinline__ float opaque_value(float value) { return value; }
__device__ __forceinline__ double opaque_value(double value) { return value; }

/// The upper half of a product.
__device__ __forceinline__ unsigned high_product(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
__device__ __forceinline__ int ones_of(unsigned long long bits) {
  return __builtin_popcountll(bits);
}
__device__ __forceinline__ int lowest_one_of(unsigned bits) { return __builtin_ctz(bits); }
__device__ __forceinline__ int leading_zeros_of(unsigned long long bits) {
  return bits == 0 ? 64 : __builtin_clzll(bits);
}

/// Rounds towards zero. The value must be in range. If operations do not trap, GCC replaces
/// float(int(x)) by trunc(x), but trunc(-0.5f) is -0.
template <class To, class T>
__device__ __forceinline__ To truncated(T value) {
  return value > -1 && value < 1 ? To(0) : static_cast<To>(value);
}

// ---- Half types ----

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_float(f16 half) {
  const unsigned word = static_cast<unsigned>(half.bits) << 16;
  const unsigned doubled = word + word;  // without the sign
  // Normal numbers: exponent and fraction move into place, with an exponent that is 112 too large.
  // Inf and NaN keep an exponent of all ones, because 2^112 times them overflows it.
  const float normal = as_float((doubled >> 4) + (0xe0u << 23)) * 0x1.0p-112f;
  // Subnormal numbers: the fraction counts steps of 2^-24 above one half.
  const float subnormal = as_float((doubled >> 17) | (126u << 23)) - 0.5f;
  const float magnitude = doubled < (1u << 27) ? subnormal : normal;
  return as_float((word & 0x80000000u) | bits_of(magnitude));
}
__device__ __forceinline__ float to_float(bf16 half) {
  return as_float(static_cast<unsigned>(half.bits) << 16);
}
__device__ __forceinline__ f16 to_f16(float value) {
  const unsigned word = bits_of(value);
  const unsigned doubled = word + word;
  // Adding 2^(exponent + 13) makes the float adder round to nearest even at the half's last bit.
  // The product with 2^112 turns values that a half cannot hold into infinity.
  const float scaled = as_float(word & 0x7fffffffu) * 0x1.0p+112f * 0x1.0p-110f;
  const unsigned exponent = doubled & 0xff000000u;
  const unsigned bias = exponent < 0x71000000u ? 0x71000000u : exponent;
  const unsigned rounded = bits_of(as_float((bias >> 1) + 0x07800000u) + scaled);
  const unsigned magnitude = ((rounded >> 13) & 0x7c00u) + (rounded & 0x0fffu);
  const unsigned sign = (word >> 16) & 0x8000u;
  return {static_cast<unsigned short>(sign | (doubled > 0xff000000u ? 0x7e00u : magnitude))};
}
__device__ __forceinline__ bf16 to_bf16(float value) {
  const unsigned word = bits_of(value);
  const unsigned rounded = (word + 0x7fffu + ((word >> 16) & 1)) >> 16;
  return {static_cast<unsigned short>(value != value ? 0x7fffu : rounded)};
}
// Rounds to odd: the last bit becomes a sticky bit. A second rounding to a type with at least two
// bits less then gives the same result as a single rounding.
__device__ __forceinline__ float sinter_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const unsigned word = bits_of(nearest);
  if (back == value || value != value || (word & 1)) return nearest;
  const bool is_above = value > 0 ? back > value : back < value;  // in magnitude
  return as_float(is_above ? word - 1 : word + 1);
}
__device__ __forceinline__ f16 to_f16(double value) { return to_f16(sinter_to_odd(value)); }
__device__ __forceinline__ bf16 to_bf16(double value) { return to_bf16(sinter_to_odd(value)); }

// ---- Memory ----

#ifdef SINTER_COUNT
#define SINTER_TOUCH(pointer, bytes, site, is_store) \
  sinter_services->record_access(sinter_position.block, pointer, bytes, site, is_store)
#else
#define SINTER_TOUCH(pointer, bytes, site, is_store) static_cast<void>(site)
#endif

template <class T, int N>
struct alignas(N * sizeof(T) > 16 ? 16 : (N & (N - 1)) ? sizeof(T) : N * sizeof(T)) Vector {
  T data[N];
  // Inlined even without optimization, because the text is shorter than a call.
  __device__ SINTER_ALWAYS_INLINE T& operator[](int i) { return data[i]; }
  __device__ SINTER_ALWAYS_INLINE const T& operator[](int i) const { return data[i]; }
};

template <class T, int N>
__device__ __forceinline__ void convert_again(Vector<T, N>&) {}

// The hidden last parameter is the line of the caller, by which accesses are counted.
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load(const T* pointer, Index index,
                                             int site = __builtin_LINE()) {
  SINTER_TOUCH(pointer + index, N * sizeof(T), site, false);
  Vector<T, N> value;
  __builtin_memcpy(&value, pointer + index, N * sizeof(T));  // a Vector may end with padding
  return value;
}
/// N elements in memory, for kernels that read them before they store. Long vectors cost a copy.
template <class T, int N>
struct View {
  T data[N];
  __device__ SINTER_ALWAYS_INLINE const T& operator[](int i) const { return data[i]; }
};
template <int N, class T, class Index>
__device__ __forceinline__ const View<T, N>& load_view(const T* pointer, Index index,
                                                       int site = __builtin_LINE()) {
  SINTER_TOUCH(pointer + index, N * sizeof(T), site, false);
  return *reinterpret_cast<const View<T, N>*>(pointer + index);
}
/// Starts to bring N elements into a cache.
template <int N, class T, class Index>
__device__ __forceinline__ void prefetch(const T* pointer, Index index) {
  constexpr int kLine = 64 / static_cast<int>(sizeof(T));
  for (int i = 0; i < N; i += kLine) __builtin_prefetch(pointer + index + i);
}
template <int N, class T, class Index>
__device__ __forceinline__ void prefetch_for_store(const T* pointer, Index index) {
  constexpr int kLine = 64 / static_cast<int>(sizeof(T));
  for (int i = 0; i < N; i += kLine) __builtin_prefetch(pointer + index + i, 1);
}
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_streaming(const T* pointer, Index index,
                                                       int site = __builtin_LINE()) {
  return load<N>(pointer, index, site);
}
template <class T, class Index>
__device__ __forceinline__ T load(const T* pointer, Index index, int site = __builtin_LINE()) {
  SINTER_TOUCH(pointer + index, sizeof(T), site, false);
  return pointer[index];
}
template <class T, class Index>
__device__ __forceinline__ T load_streaming(const T* pointer, Index index,
                                            int site = __builtin_LINE()) {
  return load(pointer, index, site);
}
template <int N, class T, class Index>
__device__ __forceinline__ Vector<T, N> load_retained(const T* pointer, Index index,
                                                      int site = __builtin_LINE()) {
  return load<N>(pointer, index, site);
}
template <class T, class Index>
__device__ __forceinline__ T load_retained(const T* pointer, Index index,
                                           int site = __builtin_LINE()) {
  return load(pointer, index, site);
}
template <int N, class T, class Index>
__device__ __forceinline__ void store(T* pointer, Index index, const Vector<T, N>& value,
                                      int site = __builtin_LINE()) {
  SINTER_TOUCH(pointer + index, N * sizeof(T), site, true);
  __builtin_memcpy(pointer + index, &value, N * sizeof(T));
}
template <class T, class Index>
__device__ __forceinline__ void store(T* pointer, Index index, T value,
                                      int site = __builtin_LINE()) {
  SINTER_TOUCH(pointer + index, sizeof(T), site, true);
  pointer[index] = value;
}
template <class T>
__device__ __forceinline__ T load_workspace(const T* pointer, long long index,
                                            int site = __builtin_LINE()) {
  return load(pointer, index, site);
}
template <class T>
__device__ __forceinline__ void store_workspace(T* pointer, long long index, T value,
                                                int site = __builtin_LINE()) {
  store(pointer, index, value, site);
}

template <class State>
__device__ __forceinline__ State load_shared(const State* place) {
  return *place;
}
template <class State>
__device__ __forceinline__ void store_shared(State* place, State state) {
  *place = state;
}

// ---- Threads of a block ----

// Other CUDA threads run on this OS thread while one waits, so each restores its position when it
// resumes.
__device__ __forceinline__ void block_barrier() {
  const sinter::device_abi::Index3 size = sinter_position.block->size;
  if ((size.x | size.y | size.z) == 1) return;
  const sinter::device_abi::ThreadPosition position = sinter_position;
  sinter_services->block_barrier(position.block);
  sinter_position = position;
}
template <class T>
__device__ __forceinline__ T warp_xor(T value, int lane_mask) {
  static_assert(sizeof(T) % 4 == 0 && sizeof(T) <= sinter::device_abi::kExchangeBytes,
                "a lane hands over 4 to 32 bytes");
  const sinter::device_abi::ThreadPosition position = sinter_position;
  auto& slots = position.warp->slots[position.warp->phase & 1];
  __builtin_memcpy(slots[position.lane], &value, sizeof(T));
  sinter_services->warp_barrier(position.block);
  sinter_position = position;
  const unsigned partner = position.lane ^ static_cast<unsigned>(lane_mask);
  __builtin_memcpy(&value, slots[partner < position.warp->lanes ? partner : position.lane],
                   sizeof(T));
  return value;
}
// The call is recorded for checks. A kernel that counts may really have started early.
__device__ __forceinline__ void wait_for_prior_launches() {
  sinter::device_abi::Block* const block = sinter_position.block;
#ifdef SINTER_COUNT
  if (!block->has_waited_for_prior) sinter_services->wait_for_prior(block);
#endif
  block->has_waited_for_prior = true;
}

__device__ __forceinline__ unsigned char* shared_memory() { return sinter_position.block->shared; }

template <bool kHasMet = false>
__device__ __forceinline__ bool last_block(unsigned* ticket, unsigned blocks) {
  if constexpr (!kHasMet) block_barrier();
  sinter::device_abi::Block* const block = sinter_position.block;
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    const bool is_last = __atomic_add_fetch(ticket, 1u, __ATOMIC_ACQ_REL) == blocks;
    if (is_last) __atomic_store_n(ticket, 0u, __ATOMIC_RELAXED);  // for the next launch
    block->arrived_last = is_last;
  }
  block_barrier();
  return block->arrived_last;
}

// ---- Copies to shared memory ----

// The copies of cuda_copies.cuh. They are complete when they are started, so only the meetings of
// threads are left.
template <int Stages>
struct ThreadCopies {
  template <int N, class T>
  __device__ __forceinline__ void copy(T* shared, const T* from,
                                       int site = __builtin_LINE()) const {
    SINTER_TOUCH(from, N * sizeof(T), site, false);
    __builtin_memcpy(shared, from, N * sizeof(T));
  }
  __device__ __forceinline__ void commit() const {}
  __device__ __forceinline__ void await() const {}
};

template <int Stages>
struct BulkCopies {
  __device__ __forceinline__ explicit BulkCopies(unsigned char*) {}
  __device__ __forceinline__ bool issues() const { return threadIdx.x == 0; }
  __device__ __forceinline__ void expect(int, int) const {}
  template <class T>
  __device__ __forceinline__ void copy(int, T* shared, const T* from, int count,
                                       int site = __builtin_LINE()) const {
    SINTER_TOUCH(from, static_cast<unsigned>(count * sizeof(T)), site, false);
    __builtin_memcpy(shared, from, count * sizeof(T));
  }
  // The thread that copies comes last if the others arrive first.
  __device__ __forceinline__ void await(int) const { block_barrier(); }
  __device__ __forceinline__ void release() const { block_barrier(); }
};

// ---- Blocks that wait for blocks that started earlier ----

extern "C" int sched_yield();
__device__ __forceinline__ unsigned take_number(unsigned* next, void* shared) {
  unsigned* const taken = static_cast<unsigned*>(shared);
  if (threadIdx.x == 0) *taken = __atomic_fetch_add(next, 1u, __ATOMIC_ACQ_REL);
  block_barrier();
  const unsigned number = *taken;
  block_barrier();
  return number;
}
__device__ __forceinline__ void publish(unsigned* flag, unsigned what) {
  __atomic_store_n(flag, what, __ATOMIC_RELEASE);
}
// Each worker thread runs one block from start to end, so blocks with smaller numbers make progress
// on other workers.
__device__ __forceinline__ unsigned await_flag(const unsigned* flag, unsigned least) {
  unsigned what = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
  while (what < least) {
    sched_yield();
    what = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
  }
  return what;
}

// ---- Blocks of a cluster, in one dimension ----

__device__ __forceinline__ int cluster_rank() {
  return static_cast<int>(sinter_position.block->cluster_rank);
}
__device__ __forceinline__ void cluster_arrive() {
  sinter_services->cluster_arrive(sinter_position.block);
}
__device__ __forceinline__ void cluster_arrive_relaxed() { cluster_arrive(); }
__device__ __forceinline__ void cluster_wait() {
  const sinter::device_abi::ThreadPosition position = sinter_position;
  sinter_services->cluster_wait(position.block);
  sinter_position = position;
}
template <class T>
__device__ __forceinline__ T* cluster_map(T* shared, int rank) {
  return static_cast<T*>(
      sinter_services->cluster_map(sinter_position.block, shared, static_cast<unsigned>(rank)));
}

// ---- Blocks of a cooperative launch, in one dimension ----

// The counter has the same values as on a GPU. The driver implements the waiting.
__device__ __forceinline__ void grid_depart(unsigned* arrivals) {
  if (threadIdx.x == 0)
    __atomic_fetch_add(arrivals, blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u,
                       __ATOMIC_ACQ_REL);
}
template <bool kHasMet = false>
__device__ __forceinline__ void grid_barrier(unsigned* arrivals) {
  grid_depart(arrivals);
  const sinter::device_abi::ThreadPosition position = sinter_position;
  sinter_services->grid_barrier(position.block, arrivals);
  sinter_position = position;
}

// ---- Functions of the C library ----

// clang-format off
extern "C" {
#define SINTER_UNARY(name) float name##f(float); double name(double);
#define SINTER_BINARY(name) float name##f(float, float); double name(double, double);
SINTER_UNARY(sqrt) SINTER_UNARY(fabs)
SINTER_UNARY(floor) SINTER_UNARY(ceil) SINTER_UNARY(trunc) SINTER_UNARY(rint) SINTER_UNARY(round)
SINTER_BINARY(fmod) SINTER_BINARY(remainder) SINTER_BINARY(copysign)
SINTER_BINARY(fmin) SINTER_BINARY(fmax) SINTER_BINARY(nextafter)
// host_math defines the following for f32.
double exp(double); double exp2(double); double expm1(double);
double log(double); double log2(double); double log10(double); double log1p(double);
double sin(double); double cos(double); double tan(double);
double asin(double); double acos(double); double atan(double); double atan2(double, double);
double sinh(double); double cosh(double); double tanh(double);
double asinh(double); double acosh(double); double atanh(double);
double erf(double); double erfc(double);
double pow(double, double); double cbrt(double); double hypot(double, double);
float lgammaf_r(float, int*);
double lgamma_r(double, int*);
float fmaf(float, float, float);
double fma(double, double, double);
long double sqrtl(long double);
}
// clang-format on
#undef SINTER_UNARY
#undef SINTER_BINARY

// Uses the reentrant form, because lgamma writes the sign to a global variable.
__device__ __forceinline__ float lgammaf(float value) {
  int sign;
  return lgammaf_r(value, &sign);
}
__device__ __forceinline__ double lgamma(double value) {
  int sign;
  return lgamma_r(value, &sign);
}
__device__ __forceinline__ double rsqrt(double value) {
  return static_cast<double>(1.0L / sqrtl(static_cast<long double>(value)));
}
