// The reduction tree of the numerics contract, a function of the extent alone
// (docs/reference/numerics.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/support/round_up.h"

namespace sinter {

/// Elements of one chunk, for any dtype.
inline constexpr std::int64_t kChunk = 4;
/// Adjacent reduced axes merge into one level while their product is at most this.
inline constexpr std::int64_t kLargestMergedLevel = std::int64_t{1} << 14;

/// One level of a reduction of `extent` elements.
struct Tree {
  std::int64_t extent = 0;
  std::int64_t chunks = 0;           ///< ceil(extent / 4)
  std::int64_t parts = 1;            ///< P, a power of two
  std::int64_t chunks_per_part = 0;  ///< k
  std::int64_t accumulators = 1;     ///< L per part, a power of two
};

constexpr Tree tree_of(std::int64_t extent) {
  Tree tree{.extent = extent, .chunks = divide_up(extent, kChunk)};
  tree.parts = std::clamp<std::int64_t>(bit_floor(extent / 4096), 1, 1024);
  tree.chunks_per_part = divide_up(tree.chunks, tree.parts);
  tree.accumulators = std::min<std::int64_t>(512, bit_ceil(tree.chunks_per_part));
  return tree;
}

/// Chunks of 4 elements in one tile of a scan. Shorter rows use fewer chunks without changing a
/// bit, because the missing elements would be identities.
inline constexpr std::int64_t kScanChunks = 256;
inline std::int64_t scan_chunks(std::int64_t extent) {
  return std::min(bit_ceil(divide_up(extent, kChunk)), kScanChunks);
}

}  // namespace sinter
