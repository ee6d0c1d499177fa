// Interns the positions and shapes that a body builder uses repeatedly. Each has a number, and
// values derived from it are computed once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/shape/index_map.h"
#include "ir/support/dense_map.h"

namespace sinter {

class InternedPositions {
 public:
  /// The number of a position.
  int of(std::span<const Index> at);
  std::span<const Index> at(int position) const {
    return positions_[static_cast<std::size_t>(position)];
  }
  /// The number of a shape.
  int shape(std::span<const Extent> shape);

  /// The row-major index and the memory offset of `position` in an array of `shape`.
  const Index& number_in(IndexSpace& space, int position, std::span<const Extent> shape);
  const Index& offset_in(IndexSpace& space, int position, std::span<const Extent> shape);
  /// The address of `position` in memory with these strides, one per axis.
  const Index& address_in(IndexSpace& space, int position, std::span<const Extent> strides);

 private:
  enum class Kind : std::uint8_t { number, offset, address };
  /// The cached index for a position and a shape; true if it is new and empty.
  std::pair<Index&, bool> known(Kind kind, int position, std::span<const Extent> shape);

  std::vector<std::vector<Index>> positions_;
  std::vector<int> next_;  ///< per position: another position with the same hash; -1: none
  DenseMap<std::uint32_t, int> newest_;  ///< by hash
  std::vector<std::span<const Extent>> shapes_;
  DenseMap<std::uint32_t, int> shape_of_;       ///< the first shape, by hash
  DenseMap<std::pair<int, int>, Index> known_;  ///< by position, and by shape and kind
};

}  // namespace sinter
