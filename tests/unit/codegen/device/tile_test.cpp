// Compiles the device code of tiles for the host. Checks the positions of elements in shared
// memory, the vectors of each thread, and that threads of a warp reach different banks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/tiling/transpose_tiles.h"

#define __device__
#define __forceinline__ inline

namespace sinter::tile_test {
namespace {

template <class T, int N>
struct Vector {
  T data[N];
  T& operator[](int i) { return data[i]; }
  const T& operator[](int i) const { return data[i]; }
};

#include "codegen/device/tile.cuh"

constexpr int kWarp = 32;
constexpr int kBanks = 32;

/// The maximum number of words of one bank that one access reaches. Wide elements take two rounds.
int conflicts(const std::vector<int>& bytes, int size) {
  const int lanes_at_once = size > 4 ? kWarp / 2 : kWarp;
  std::size_t most = 0;
  for (std::size_t first = 0; first < bytes.size(); first += lanes_at_once) {
    std::map<int, std::set<int>> words;
    for (std::size_t i = first; i < first + lanes_at_once; ++i)
      for (int word = bytes[i] / 4; word * 4 < bytes[i] + size; ++word)
        words[word % kBanks].insert(word);
    for (const auto& [bank, reached] : words) most = std::max(most, reached.size());
  }
  return static_cast<int>(most);
}

DType dtype_of_size(int bytes) {
  switch (bytes) {
    case 1: return DType::i8;
    case 2: return DType::bf16;
    case 4: return DType::f32;
    default: return DType::f64;
  }
}

template <class T, int kEdge, int kVector>
void expect_good_tile() {
  constexpr int kLines = kVector < 4 ? 1 : kVector / 4;
  constexpr int kBytes = sizeof(T);
  constexpr int kAcross = std::min({kEdge / kVector, kWarp, 128 / (kVector * kBytes)});
  ASSERT_EQ(kLines, lines_per_padding(kVector));
  ASSERT_EQ(kAcross, lanes_across(kEdge, kVector, kBytes));
  using Here = Tile<T, kEdge, kLines>;

  std::vector<T> memory(
      static_cast<std::size_t>(tile_bytes(kEdge, dtype_of_size(kBytes), kVector)) / kBytes);
  const Here tile(reinterpret_cast<unsigned char*>(memory.data()));
  std::set<int> offsets;
  for (int line = 0; line < kEdge; ++line)
    for (int place = 0; place < kEdge; ++place) offsets.insert(Here::offset(line, place));
  EXPECT_EQ(offsets.size(), std::size_t{kEdge} * kEdge);
  EXPECT_LT(static_cast<std::size_t>(*offsets.rbegin()), memory.size());

  std::set<std::pair<int, int>> vectors;
  for (unsigned first = 0; first < kEdge * kEdge / kVector; first += kWarp)
    for (int k = 0; k < kVector; ++k) {
      std::vector<int> read;
      std::vector<int> written;
      for (unsigned lane = 0; lane < kWarp; ++lane) {
        const TilePlace<kEdge, kVector, kAcross> place(first + lane);
        vectors.insert({place.line, place.start});
        read.push_back(Here::offset(place.start + k, place.line) * kBytes);
        written.push_back(Here::offset(place.line, place.start + k) * kBytes);
      }
      EXPECT_LE(conflicts(read, kBytes), 1) << kEdge << " " << kVector << " of " << kBytes;
      EXPECT_LE(conflicts(written, kBytes), std::max(kLines, 1)) << kEdge << " " << kVector;
    }
  EXPECT_EQ(vectors.size(), std::size_t{kEdge} * kEdge / kVector);

  Vector<T, kVector> value;
  for (int k = 0; k < kVector; ++k) value[k] = static_cast<T>(k + 1);
  tile.put(3, kVector, value);
  for (int k = 0; k < kVector; ++k) EXPECT_EQ(tile(3, kVector + k), static_cast<T>(k + 1));
  const Vector<T, kVector> taken = tile.template take<kVector>(3, kVector);
  tile.spread(kVector, 5, value);
  for (int k = 0; k < kVector; ++k) {
    EXPECT_EQ(taken[k], static_cast<T>(k + 1));
    EXPECT_EQ(tile(kVector + k, 5), static_cast<T>(k + 1));
  }
}

TEST(TileDevice, ElementsHavePositionsAndThreadsDistinctBanks) {
  expect_good_tile<float, 32, 4>();
  expect_good_tile<float, 64, 4>();
  expect_good_tile<float, 64, 2>();
  expect_good_tile<float, 32, 1>();
  expect_good_tile<short, 32, 8>();
  expect_good_tile<short, 64, 8>();
  expect_good_tile<short, 64, 1>();
  expect_good_tile<double, 32, 2>();
  expect_good_tile<double, 32, 1>();
  expect_good_tile<signed char, 64, 16>();
  expect_good_tile<signed char, 128, 16>();
  expect_good_tile<signed char, 128, 1>();
}

}  // namespace
}  // namespace sinter::tile_test
