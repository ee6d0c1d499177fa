// Interns the positions and shapes that a body builder uses repeatedly. Each has a number, and
// values derived from it are computed once.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ir/shape/index_map.h"
#include "ir/support/dense_map.h"

namespace sinter {

class InternedPositions {
 public:
  /// The number of a position.
  int of(std::span<const Index> at);
  std::span<const Index> at(int position) const {
    return positions_.lists[static_cast<std::size_t>(position)];
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
  /// The cached index for a position and a shape, made at the first request.
  template <class Make>
  const Index& known(Kind kind, int position, std::span<const Extent> shape, const Make& make);

  template <class List>
  struct Interned {
    std::vector<List> lists;
    std::vector<int> next;                ///< per list: another list with the same hash; -1: none
    DenseMap<std::uint32_t, int> newest;  ///< by hash
  };
  template <class List, class Item>
  static int intern(Interned<List>& known, std::span<const Item> list);

  Interned<std::vector<Index>> positions_;
  Interned<std::span<const Extent>> shapes_;
  DenseMap<std::pair<int, int>, Index> known_;  ///< by position, and by shape and kind
};

}  // namespace sinter
