// The larger and the smaller one of two f32 for the host device. They select by masks, because GCC
// makes no vector code of short unrolled loops with branches.
#pragma once

/// All bits set if `condition` holds.
__device__ __forceinline__ unsigned mask_of(bool condition) {
  return 0u - static_cast<unsigned>(condition);
}
/// NaN if either is NaN: its bits, combined with any others by "or", are NaN too. -0 is below +0.
__device__ __forceinline__ float maximum(float a, float b) {
  const unsigned x = bits_of(a), y = bits_of(b), is_first = mask_of(a > b);
  const unsigned larger = (x & (is_first | mask_of(a != a))) | (y & ~is_first);
  return as_float(larger & (x | ~mask_of(a == b)));
}
__device__ __forceinline__ float minimum(float a, float b) {
  const unsigned x = bits_of(a), y = bits_of(b), is_first = mask_of(a < b);
  const unsigned smaller = (x & (is_first | mask_of(a != a))) | (y & ~is_first);
  return as_float(smaller | (x & mask_of(a == b)));
}
