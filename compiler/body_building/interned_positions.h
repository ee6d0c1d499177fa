// Positions and shapes that the builder of a body meets again and again, each known by a number,
// and what follows of them, worked out once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/shape/index_map.h"
#include "ir/support/dense_map.h"

namespace sinter {

class Places {
 public:
  /// The number of a position.
  int of(std::span<const Index> at);
  std::span<const Index> at(int place) const { return places_[static_cast<std::size_t>(place)]; }
  /// The number of a shape.
  int shape(std::span<const Extent> shape);

  /// `place` in an array of `shape`, row-major: its number there, and its offset in memory.
  const Index& number_in(IndexSpace& space, int place, std::span<const Extent> shape);
  const Index& offset_in(IndexSpace& space, int place, std::span<const Extent> shape);
  /// `place` in memory of such strides, one per axis.
  const Index& address_in(IndexSpace& space, int place, std::span<const Extent> strides);

 private:
  enum class Kind : std::uint8_t { number, offset, address };
  /// What is known of a place in a shape; a new one is empty.
  std::pair<Index&, bool> known(Kind kind, int place, std::span<const Extent> shape);

  std::vector<std::vector<Index>> places_;
  std::vector<int> next_;                ///< of a place, another one of its hash; -1: none
  DenseMap<std::uint32_t, int> newest_;  ///< by hash
  std::vector<std::span<const Extent>> shapes_;
  DenseMap<std::uint32_t, int> shape_of_;       ///< the first one, by hash
  DenseMap<std::pair<int, int>, Index> known_;  ///< by place, and shape and kind
};

}  // namespace sinter
