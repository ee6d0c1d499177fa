// Loads and stores that lie in memory along another axis than the one that a kernel walks: they go
// through tiles in shared memory, where threads stand along the one axis or along the other.
#pragma once

#include <span>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// What tiles can serve of a pointwise body. A tile covers `axis`, along which all of these lie in
/// memory one element beside the other, and the last axis, which the kernel walks.
struct TiledAccesses {
  int axis = -1;
  std::vector<int> loads;   ///< values of the body, by ascending number
  std::vector<int> stores;  ///< stores of the body, likewise

  bool empty() const { return loads.empty() && stores.empty(); }
  bool has_load(int value) const;
  bool has_store(int store) const;
};

/// Of the axes that tiles could cover, the one along which most bytes move. Accesses whose address
/// or conditions depend on data are left alone.
TiledAccesses tiled_accesses(const Body& body, const Facts& facts);

/// A load or store that has a tile.
struct TiledAccess {
  const Index& at;
  DType dtype;
  std::span<const Condition> conditions;
  int aligned = kWellAligned;  ///< elements that the array begins at a multiple of
};
TiledAccess load_of(const Body& body, int value);
TiledAccess store_of(const Body& body, int store);
/// All of `tiled`, the loads first.
std::vector<TiledAccess> all_of(const Body& body, const TiledAccesses& tiled);

/// The elements that one thread moves at once along the axis of the tile: at most 16 bytes, under
/// conditions that hold for all of them or for none, and no more than its share of the tile.
int tile_vector(const Body& body, int axis, const TiledAccess& access, const Schedule& schedule,
                const Facts& facts);

/// In a tile, one word of padding follows each so many lines along its axis. Threads beside one
/// another then reach different banks, whether they stand along lines or, each with `vector`
/// elements, across them.
int lines_per_padding(int vector);
/// Shared memory of a tile of edge × edge elements of `dtype`, a multiple of 16.
std::int64_t tile_bytes(int edge, DType dtype, int vector);

/// Lanes of a warp that stand side by side with one vector each; the others stand below them. 128
/// bytes of a line make whole sectors.
int lanes_across(int edge, int vector, int bytes_per_element);

}  // namespace sinter
