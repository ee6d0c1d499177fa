// Functions of the op table that neither CUDA's library nor the C library has in that form. These
// are division that rounds down, extremes that ignore NaN, bits, shifts and random words.
#pragma once

__device__ __forceinline__ float copy_sign(float magnitude, float sign) {
  return copysignf(magnitude, sign);
}
__device__ __forceinline__ double copy_sign(double magnitude, double sign) {
  return copysign(magnitude, sign);
}
__device__ __forceinline__ float division_rest(float a, float b) { return fmodf(a, b); }
__device__ __forceinline__ double division_rest(double a, double b) { return fmod(a, b); }
__device__ __forceinline__ float exponential(float a) { return expf(a); }
__device__ __forceinline__ double exponential(double a) { return exp(a); }
__device__ __forceinline__ float logarithm(float a) { return logf(a); }
__device__ __forceinline__ double logarithm(double a) { return log(a); }
__device__ __forceinline__ float rounded_down(float a) { return floorf(a); }
__device__ __forceinline__ double rounded_down(double a) { return floor(a); }

template <class T>
__device__ __forceinline__ T sign(T a) {
  return a > 0 ? static_cast<T>(1) : a < 0 ? static_cast<T>(-1) : a;
}
template <class T>
__device__ __forceinline__ bool is_infinite(T a) {
  return a == Ends<T>::highest() || a == Ends<T>::lowest();
}
template <class T>
__device__ __forceinline__ bool is_finite(T a) {
  return a - a == 0;
}
template <class T>
__device__ __forceinline__ T larger_number(T a, T b) {
  if (a != a) return b;
  return b != b ? a : maximum(a, b);
}
template <class T>
__device__ __forceinline__ T smaller_number(T a, T b) {
  if (a != a) return b;
  return b != b ? a : minimum(a, b);
}

// Uses the exact remainder, so that a quotient just below an integer is not rounded up to it.
template <class T>
__device__ __forceinline__ T floor_div_of_floats(T a, T b) {
  const T rest = division_rest(a, b);
  if (b == 0 || rest != rest) return a / b;
  T quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient = quotient - 1;
  if (quotient == 0) return copy_sign(static_cast<T>(0), a / b);
  const T below = rounded_down(quotient);
  return quotient - below > static_cast<T>(0.5) ? below + 1 : below;
}
template <class T>
__device__ __forceinline__ T floor_remainder_of_floats(T a, T b) {
  const T rest = division_rest(a, b);
  if (rest == 0) return copy_sign(static_cast<T>(0), b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
__device__ __forceinline__ float floor_div(float a, float b) { return floor_div_of_floats(a, b); }
__device__ __forceinline__ double floor_div(double a, double b) {
  return floor_div_of_floats(a, b);
}
__device__ __forceinline__ float floor_remainder(float a, float b) {
  return floor_remainder_of_floats(a, b);
}
__device__ __forceinline__ double floor_remainder(double a, double b) {
  return floor_remainder_of_floats(a, b);
}

// Integer division. The result is 0 if the divisor is 0. The smallest number divided by -1 is
// itself.
template <class T>
__device__ __forceinline__ T truncated_quotient(T a, T b) {
  if (b == 0) return 0;
  if (is_signed_type<T>() && b == static_cast<T>(-1)) return wrapping_neg(a);
  return static_cast<T>(a / b);
}
template <class T>
__device__ __forceinline__ T truncated_remainder(T a, T b) {
  if (b == 0 || (is_signed_type<T>() && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}
template <class T>
__device__ __forceinline__ T floor_div(T a, T b) {
  const T quotient = truncated_quotient(a, b);
  const bool rounds = truncated_remainder(a, b) != 0 && is_negative(a) != is_negative(b);
  return rounds ? static_cast<T>(quotient - 1) : quotient;
}
template <class T>
__device__ __forceinline__ T floor_remainder(T a, T b) {
  const T rest = truncated_remainder(a, b);
  return rest != 0 && is_negative(a) != is_negative(b) ? static_cast<T>(rest + b) : rest;
}

template <class T>
__device__ __forceinline__ T bitwise_not(T a) {
  return static_cast<T>(~a);
}
template <class T>
__device__ __forceinline__ T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
__device__ __forceinline__ T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
__device__ __forceinline__ T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
__device__ __forceinline__ unsigned long long zero_extended(T a) {
  const auto all = static_cast<unsigned long long>(a);
  return all & (~0ull >> (64 - bits_of_type<T>()));
}
template <class T>
__device__ __forceinline__ T population_count(T a) {
  return static_cast<T>(ones_of(zero_extended(a)));
}
template <class T>
__device__ __forceinline__ T leading_zeros(T a) {
  return static_cast<T>(leading_zeros_of(zero_extended(a)) - (64 - bits_of_type<T>()));
}
// Shifts by a negative amount, or by at least the width, move every bit out.
template <class T>
__device__ __forceinline__ bool shifts_all(T by) {
  return is_negative(by) || zero_extended(by) >= static_cast<unsigned>(bits_of_type<T>());
}
template <class T>
__device__ __forceinline__ T shift_left(T a, T by) {
  return shifts_all(by) ? static_cast<T>(0) : static_cast<T>(zero_extended(a) << by);
}
template <class T>
__device__ __forceinline__ T shift_right(T a, T by) {
  const T all_gone = is_negative(a) ? static_cast<T>(-1) : static_cast<T>(0);
  return shifts_all(by) ? all_gone : static_cast<T>(a >> by);
}

/// Not inlined: each division branches to a slow path for operands out of range. Many of these
/// branches in one function would dominate its compile time.
template <class T, int N>
__device__ __noinline__ Vector<T, N> quotients(Vector<T, N> dividends, T divisor) {
  Vector<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result[i] = dividends[i] / divisor;
  return result;
}

template <class To, class From>
__device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  union Bits {
    From from;
    To to;
    __device__ __forceinline__ Bits() {}
  } bits;
  bits.from = from;
  return bits.to;
}

/// Philox 4x32-10 with the key `seed`: the four words for the counter (number, offset). Salmon et
/// al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
struct Philox {
  unsigned words[4];
  __device__ __forceinline__ Philox(unsigned long long seed, unsigned long long offset,
                                    unsigned long long number)
      : words{static_cast<unsigned>(number), static_cast<unsigned>(number >> 32),
              static_cast<unsigned>(offset), static_cast<unsigned>(offset >> 32)} {
    unsigned key[2] = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const unsigned first = high_product(0xd2511f53u, words[0]);
      const unsigned second = high_product(0xcd9e8d57u, words[2]);
      const unsigned last = 0xd2511f53u * words[0];
      words[0] = second ^ words[1] ^ key[0];
      words[1] = 0xcd9e8d57u * words[2];
      words[2] = first ^ words[3] ^ key[1];
      words[3] = last;
      key[0] += 0x9e3779b9u;
      key[1] += 0xbb67ae85u;
    }
  }
};
/// Word index % 4 for the counter (index / 4, offset).
__device__ __forceinline__ unsigned philox(unsigned long long seed, unsigned long long offset,
                                           unsigned long long index) {
  const Philox block(seed, offset, index >> 2);
  const unsigned low = index & 1 ? block.words[1] : block.words[0];
  const unsigned high = index & 1 ? block.words[3] : block.words[2];
  return index & 2 ? high : low;
}
/// The words of `N` indices from `first` on, both multiples of 4.
template <int N>
__device__ __forceinline__ Vector<unsigned, N> philox_words(unsigned long long seed,
                                                            unsigned long long offset,
                                                            unsigned long long first) {
  Vector<unsigned, N> result;
#pragma unroll
  for (int i = 0; i < N / 4; ++i) {
    const Philox block(seed, offset, (first >> 2) + static_cast<unsigned>(i));
#pragma unroll
    for (int word = 0; word < 4; ++word) result[4 * i + word] = block.words[word];
  }
  return result;
}
