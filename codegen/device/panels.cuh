// Panels: parts of arrays that a block keeps in shared memory from one phase of a kernel to
// another.
#pragma once

// The vectors from number `first` on, of which there are kCount: each thread has some kThreads
// apart, all of them on their way before the first is there.
template <int kThreads, int kCount, int kPerLine, class T, int kVector, class Index>
__device__ __forceinline__ void keep_vectors(const T* from, Index start, Index stride,
                                             Vector<T, kVector>* to, unsigned first) {
  constexpr int kAtOnce = (kCount + kThreads - 1) / kThreads;
  const unsigned thread = threadIdx.x;
  Vector<T, kVector> ahead[kAtOnce];
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const unsigned at = first + thread + u * kThreads;
    if ((u + 1) * kThreads <= kCount || thread < kCount - u * kThreads)
      ahead[u] = load<kVector>(from, start + static_cast<Index>(at / kPerLine) * stride +
                                         static_cast<Index>(at % kPerLine * kVector));
  }
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u)
    if ((u + 1) * kThreads <= kCount || thread < kCount - u * kThreads)
      to[first + thread + u * kThreads] = ahead[u];
}

// Copies kLines lines of kLength elements, `stride` elements apart in memory from `start` on, to
// `to`, one behind the other. All kThreads threads of the block take part; a barrier must follow.
template <int kThreads, int kVector, int kLines, int kLength, class T, class Index>
__device__ __forceinline__ void keep_panel(const T* from, Index start, Index stride, T* to) {
  static_assert(kLength % kVector == 0, "lines have whole vectors");
  constexpr int kPerLine = kLength / kVector;
  constexpr int kVectors = kLines * kPerLine;
  constexpr int kPerRound = 8 * kThreads;
  constexpr int kInRounds = kVectors / kPerRound * kPerRound;
  auto* const kept = reinterpret_cast<Vector<T, kVector>*>(to);
#pragma unroll 1
  for (int first = 0; first < kInRounds; first += kPerRound)
    keep_vectors<kThreads, kPerRound, kPerLine>(from, start, stride, kept,
                                                static_cast<unsigned>(first));
  if constexpr (kInRounds < kVectors)
    keep_vectors<kThreads, kVectors - kInRounds, kPerLine>(from, start, stride, kept,
                                                           static_cast<unsigned>(kInRounds));
}
