// The larger and the smaller one of two f32 for the host device. In vector code, each selection is
// one instruction of x86, which returns its second operand if either is NaN or both are zero.
#pragma once

/// NaN if either is NaN: its bits, combined with any others by "or", are NaN too. -0 is below +0.
__device__ __forceinline__ float maximum(float a, float b) {
  const unsigned x = bits_of(a > b ? a : b), y = bits_of(b > a ? b : a);
  return as_float((x & y) | ((x | y) & 0x7fffffffu));  // the sign of a zero is that of both
}
__device__ __forceinline__ float minimum(float a, float b) {
  return as_float(bits_of(a < b ? a : b) | bits_of(b < a ? b : a));
}
