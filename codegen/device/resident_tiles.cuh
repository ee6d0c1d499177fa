// Copies resident tiles: parts of arrays that a block keeps in shared memory across the phases of a
// kernel.
#pragma once

// kCount consecutive vectors. Each thread has every kThreads-th of them, all in flight at once.
template <class T, int kThreads, int kVector, int kPerLine, int kCount>
struct ResidentTileVectors {
  static constexpr int kAtOnce = (kCount + kThreads - 1) / kThreads;
  Vector<T, kVector> ahead[kAtOnce > 0 ? kAtOnce : 1];

  static __device__ __forceinline__ bool exists(int u) {
    return (u + 1) * kThreads <= kCount || static_cast<int>(threadIdx.x) < kCount - u * kThreads;
  }
  template <class Index>
  __device__ __forceinline__ void load_ahead(const T* from, Index start, Index stride, int first) {
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const unsigned at = static_cast<unsigned>(first + u * kThreads) + threadIdx.x;
      if (exists(u))
        ahead[u] = load<kVector>(from, start + static_cast<Index>(at / kPerLine) * stride +
                                           static_cast<Index>(at % kPerLine * kVector));
    }
  }
  __device__ __forceinline__ void keep(T* to, int first) const {
    auto* const kept = reinterpret_cast<Vector<T, kVector>*>(to);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (exists(u)) kept[first + u * kThreads + static_cast<int>(threadIdx.x)] = ahead[u];
  }
};

// Copies kLines lines of kLength elements, which start at `start` with stride `stride` in memory,
// to contiguous shared memory. All kThreads threads of the block take part, in rounds of 8 vectors
// per thread. Loads and stores of the remainder are separate calls, so that the remainders of
// several arrays can be in flight at once. A barrier must follow.
template <class T, int kThreads, int kVector, int kLines, int kLength>
struct ResidentTileCopy {
  static_assert(kLength % kVector == 0, "lines have whole vectors");
  static constexpr int kPerLine = kLength / kVector;
  static constexpr int kPerRound = 8 * kThreads;
  static constexpr int kInRounds = kLines * kPerLine / kPerRound * kPerRound;
  ResidentTileVectors<T, kThreads, kVector, kPerLine, kLines * kPerLine - kInRounds> rest;

  template <class Index>
  __device__ __forceinline__ void copy_rounds(const T* from, Index start, Index stride, T* to) {
#pragma unroll 1
    for (int first = 0; first < kInRounds; first += kPerRound) {
      ResidentTileVectors<T, kThreads, kVector, kPerLine, kPerRound> round;
      round.load_ahead(from, start, stride, first);
      round.keep(to, first);
    }
  }
  template <class Index>
  __device__ __forceinline__ void load_rest(const T* from, Index start, Index stride) {
    rest.load_ahead(from, start, stride, kInRounds);
  }
  __device__ __forceinline__ void keep_rest(T* to) const { rest.keep(to, kInRounds); }
};
