// The reduction tree of the numerics contract, a function of the extent alone
// (docs/reference/numerics.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

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
  Tree tree{.extent = extent, .chunks = (extent + kChunk - 1) / kChunk};
  const auto share = static_cast<std::uint64_t>(extent / 4096);
  tree.parts = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(share)), 1, 1024);
  tree.chunks_per_part = (tree.chunks + tree.parts - 1) / tree.parts;
  const auto chunks = static_cast<std::uint64_t>(std::max<std::int64_t>(tree.chunks_per_part, 1));
  tree.accumulators = std::min<std::int64_t>(512, static_cast<std::int64_t>(std::bit_ceil(chunks)));
  return tree;
}

/// Chunks of 4 elements in one tile of a scan. Shorter rows use fewer chunks without changing a
/// bit, because the missing elements would be identities.
inline constexpr std::int64_t kScanChunks = 256;
inline std::int64_t scan_chunks(std::int64_t extent) {
  const auto chunks = static_cast<std::uint64_t>((extent + kChunk - 1) / kChunk);
  const auto wanted = static_cast<std::int64_t>(std::bit_ceil(std::max<std::uint64_t>(chunks, 1)));
  return std::min(wanted, kScanChunks);
}

}  // namespace sinter
