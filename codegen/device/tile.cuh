// Tiles in shared memory for arrays that are contiguous along one axis and processed along another.
#pragma once

// Edge lines of Edge elements in shared memory. One word of padding follows each Lines lines, so
// that adjacent threads use different banks both along lines and across them.
template <class T, int Edge, int Lines>
struct Tile {
  static constexpr int kBytes = static_cast<int>(sizeof(T));
  static constexpr int kPadding = kBytes < 4 ? 4 / kBytes : 1;
  T* elements;

  __device__ __forceinline__ explicit Tile(unsigned char* memory)
      : elements(reinterpret_cast<T*>(memory)) {}
  static __device__ __forceinline__ int offset(int line, int place) {
    return line * Edge + line / Lines * kPadding + place;
  }
  __device__ __forceinline__ T operator()(int line, int place) const {
    return elements[offset(line, place)];
  }
  // Accesses are at most one word wide, because lines are aligned to words only.
  template <int N>
  __device__ __forceinline__ void put(int line, int start, const Vector<T, N>& values) const {
    constexpr int kWord = N < kPadding ? N : kPadding;
#pragma unroll
    for (int i = 0; i < N; i += kWord) {
      Vector<T, kWord> word;
#pragma unroll
      for (int k = 0; k < kWord; ++k) word[k] = values[i + k];
      *reinterpret_cast<Vector<T, kWord>*>(elements + offset(line, start + i)) = word;
    }
  }
  template <int N>
  __device__ __forceinline__ Vector<T, N> take(int line, int start) const {
    constexpr int kWord = N < kPadding ? N : kPadding;
    Vector<T, N> values;
#pragma unroll
    for (int i = 0; i < N; i += kWord) {
      const auto word =
          *reinterpret_cast<const Vector<T, kWord>*>(elements + offset(line, start + i));
#pragma unroll
      for (int k = 0; k < kWord; ++k) values[i + k] = word[k];
    }
    return values;
  }
  // Across lines: one element to each of N lines.
  template <int N>
  __device__ __forceinline__ void spread(int line, int place, const Vector<T, N>& values) const {
#pragma unroll
    for (int k = 0; k < N; ++k) elements[offset(line + k, place)] = values[k];
  }
  // Across lines: one element of each of N lines.
  template <int N>
  __device__ __forceinline__ Vector<T, N> gather(int line, int place) const {
    Vector<T, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = elements[offset(line + k, place)];
    return values;
  }
};

// The position of vector `number` of a tile. A warp covers Across vectors of each of 32 / Across
// lines.
template <int Edge, int Size, int Across>
struct TilePlace {
  int line;
  int start;
  __device__ __forceinline__ explicit TilePlace(unsigned number) {
    constexpr unsigned kWarpsAcross = Edge / (Size * Across);
    const unsigned warp = number / 32;
    const unsigned lane = number % 32;
    line = static_cast<int>(warp / kWarpsAcross * (32 / Across) + lane / Across);
    start = static_cast<int>((warp % kWarpsAcross * Across + lane % Across) * Size);
  }
};
