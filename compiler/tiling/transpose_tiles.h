// Tiles in shared memory for loads and stores that are contiguous along another axis than the one
// that a kernel walks. Threads run along one axis on one side of the tile, and along the other axis
// on the other side.
#pragma once

#include <span>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The accesses of a pointwise body that use tiles. A tile covers `axis`, along which all of
/// them are contiguous, and the last axis, which the kernel walks.
struct TiledAccesses {
  int axis = -1;
  std::vector<int> loads;   ///< values of the body, by ascending number
  std::vector<int> stores;  ///< stores of the body, by ascending number

  bool empty() const { return loads.empty() && stores.empty(); }
  bool has_load(int value) const;
  bool has_store(int store) const;
};

/// The accesses along the tileable axis that moves the most bytes. Leaves out accesses with
/// data-dependent addresses or conditions.
TiledAccesses tiled_accesses(const Body& body, const Facts& facts);

/// A tiled load or store.
struct TiledAccess {
  const Index& at;
  DType dtype;
  std::span<const Condition> conditions;
  int aligned = kWellAligned;  ///< the array starts at a multiple of this many elements
};
TiledAccess load_of(const Body& body, int value);
TiledAccess store_of(const Body& body, int store);
/// All accesses of `tiled`, loads first.
std::vector<TiledAccess> all_of(const Body& body, const TiledAccesses& tiled);

/// Elements that one thread moves at once along the axis of the tile: at most 16 bytes and at most
/// its share of the tile. Each condition must hold for all of these elements or for none.
int tile_vector(const Body& body, int axis, const TiledAccess& access, const Schedule& schedule,
                const Facts& facts);

/// In a tile, one word of padding follows each group of this many lines along its axis. Adjacent
/// threads then use different banks, both along lines and, with `vector` elements each, across
/// lines. The vectors of CPUs are whole lines, which need no padding.
int lines_per_padding(int vector);
/// Bytes of shared memory of a tile of edge × edge elements of `dtype`, a multiple of 16.
std::int64_t tile_bytes(int edge, DType dtype, int vector);

/// The number of lanes of a warp along a line, with one vector each; the other lanes take the
/// following lines. A line segment of 128 bytes makes whole sectors.
int lanes_across(int edge, int vector, int bytes_per_element);

}  // namespace sinter
