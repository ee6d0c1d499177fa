// The error function of f32 for the host device, without branches or calls.
#pragma once

/// a + a P(a^2) for small a; 1 - e^Q(|a|) for others.
__device__ __forceinline__ float erff(float a) {
  const float z = a * a;
  const float small_high = 0x1.5449b2p-8f + z * (-0x1.a603b8p-11f + z * 0x1.4f4746p-14f);
  const float small_middle = 0x1.ce2d64p-4f + z * (-0x1.b80116p-6f + z * small_high);
  const float small = a + a * (0x1.06eba8p-3f + z * (-0x1.812740p-2f + z * small_middle));

  const float magnitude = fabsf(a);
  const float t = magnitude > 3.95f ? 3.95f : magnitude;  // beyond, the result rounds to 1
  const float high = 0x1.6c88b6p-6f + t * (-0x1.8f9f86p-9f + t * 0x1.9c2118p-13f);
  const float middle = -0x1.4635d6p-1f + t * (-0x1.a9e4e0p-4f + t * high);
  const BinaryExponent parts(-0x1.8a8712p-13f + t * (-0x1.20b166p+0f + t * middle));
  const float power = power_of_two(parts.exponent);
  const float large = 1.0f - (power + power * expm1_near_zero(parts.rest));
  return magnitude < 0.92f ? small : copysignf(large, a);
}
