// Tiles in shared memory for arrays that are contiguous along one axis and processed along another.
#pragma once

#if !defined(__CUDACC__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SINTER_HAS_SHUFFLES
template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = unsigned long long;
};

// 8 x 8 elements, transposed by the constructor: three rounds interleave each line with the one
// four lines further on.
template <class T>
struct Square {
  using Word = typename WordOf<sizeof(T)>::Type;
  typedef Word Line __attribute__((vector_size(8 * sizeof(T))));
  Line lines[8];

  Square(const T* from, int step) {
    for (int i = 0; i < 8; ++i) __builtin_memcpy(&lines[i], from + i * step, sizeof(Line));
    for (int round = 0; round < 3; ++round) {
      Line next[8];
      for (int i = 0; i < 4; ++i) {
        const Line a = lines[i], b = lines[i + 4];
        next[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        next[2 * i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
      }
      for (int i = 0; i < 8; ++i) lines[i] = next[i];
    }
  }
  void store(T* to, int step) const {
    for (int i = 0; i < 8; ++i) __builtin_memcpy(to + i * step, &lines[i], sizeof(Line));
  }
};
#endif
#endif

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
  // For CPUs: exchanges lines and places.
  __device__ __forceinline__ void transpose() const {
#ifdef SINTER_HAS_SHUFFLES
    for (int down = 0; down < Edge; down += 8)
      for (int across = 0; across <= down; across += 8) {
        const Square<T> lower(elements + offset(down, across), offset(1, 0));
        const Square<T> upper(elements + offset(across, down), offset(1, 0));
        lower.store(elements + offset(across, down), offset(1, 0));
        upper.store(elements + offset(down, across), offset(1, 0));
      }
#else
    for (int line = 0; line < Edge; ++line)
      for (int place = 0; place < line; ++place) {
        const T lower = elements[offset(line, place)];
        elements[offset(line, place)] = elements[offset(place, line)];
        elements[offset(place, line)] = lower;
      }
#endif
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
