// Panels: parts of arrays that a block keeps in shared memory from one phase of a kernel to another.
#pragma once

// Copies kLines lines of kLength elements, `stride` elements apart in memory from `start` on, to
// `to`, one behind the other. All threads of the block take part; a barrier must follow.
template <int kVector, int kLines, int kLength, class T, class Index>
__device__ __forceinline__ void keep_panel(const T* from, Index start, Index stride, T* to) {
  static_assert(kLength % kVector == 0, "lines have whole vectors");
  constexpr int kPerLine = kLength / kVector;
  constexpr int kVectors = kLines * kPerLine;
  constexpr int kAtOnce = kVectors < 8 ? kVectors : 8;  // on their way before the first is there
  auto* const kept = reinterpret_cast<Vector<T, kVector>*>(to);
  const int threads = static_cast<int>(blockDim.x);
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < kVectors; first += kAtOnce * threads) {
    Vector<T, kVector> ahead[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int at = first + u * threads;
      if (at < kVectors)
        ahead[u] = load<kVector>(from, start + at / kPerLine * stride + at % kPerLine * kVector);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (first + u * threads < kVectors) kept[first + u * threads] = ahead[u];
  }
}
