// Describes how the sections of a horizontally fused kernel iterate over arrays of the shape outer
// × channels × rows, in any memory order of these axes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// Maps the axes of a body to outer, channels and rows. A resident tile is one outer position with
/// adjacent channels and all their rows. Or it has all outer positions, which are then the
/// *segments* of a channel's rows.
struct TileAxes {
  int outer_axis = -1;  ///< -1: of extent 1
  int channel_axis = -1;
  int row_axis = -1;
  /// The channel axis counts outer × channels; channels vary fastest.
  bool merges_outer = false;
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t segments = 1;          ///< a reduction covers the rows of one segment …
  bool reduces_all_segments = false;  ///< … or of all segments: the row axis counts segments × rows
  std::int64_t rows = 1;
  /// If channels are units of memory (memory_units.h): the positions of the body per unit. 0: they
  /// are not.
  std::int64_t positions_per_unit = 0;
  /// Blocks per unit, if no block can cross the end of a unit. 0: blocks may cross it.
  std::int64_t blocks_per_unit = 0;
  /// If units are not the first axes: the strips (Schedule::strips) that visit units first.
  std::int64_t strip = 0;
  std::int64_t strip_outer = 1;

  /// Rows of the body per channel of a resident tile.
  std::int64_t rows_per_channel() const { return reduces_all_segments ? 1 : segments; }
};

/// The extents of all axes of `body`; nullopt if one of them is symbolic or 0.
std::optional<std::vector<std::int64_t>> constant_extents(const Body& body);

/// True for reductions with independent blocks: without splits, clusters and results of all rows.
/// Also requires that nothing is kept in shared memory, and that the kernel is in no list.
bool has_independent_blocks(const Kernel& kernel, const Body& body, const Schedule& schedule);

/// The axes of a kernel that reduces the rows at each position of outer × channels, or visits all
/// three axes. Returns nullopt if its blocks do not stay within a resident tile.
std::optional<TileAxes> tile_axes_of(const Kernel& kernel, const Body& body,
                                     const Schedule& schedule, const Facts& facts);
/// The axes of a kernel whose blocks each process some channels. It reduces `outer`, or nothing.
/// Returns nullopt for other kernels.
std::optional<TileAxes> channel_axes_of(const Kernel& kernel, const Body& body,
                                        const Schedule& schedule);
/// Splits a merged axis into outer positions and `channels`. Other axes stay unchanged.
TileAxes with_channels(TileAxes axes, std::int64_t channels);
/// `axes` for resident tiles with all outer positions, which become segments. Without an outer
/// axis, the row axis counts the segments. Returns nullopt for pointwise kernels, and for axes with
/// another number of segments.
std::optional<TileAxes> with_segments(const Kernel& kernel, TileAxes axes, std::int64_t segments);

/// Blocks of a section per resident tile of `channels` channels.
std::int64_t blocks_per_resident_tile(const Kernel& kernel, const TileAxes& axes,
                                      const Schedule& schedule, std::int64_t channels);
/// The Schedule::block_limit that keeps each block within one resident tile, or one round, of
/// `channels` channels. 0: blocks need no limit. nullopt: vectors would cross the limit.
std::optional<int> block_limit_for_tiles(const Kernel& kernel, const TileAxes& axes,
                                         const Schedule& schedule, std::int64_t channels);
/// The positions that the threads of a tile's blocks cover, relative to the positions of the tile;
/// at least 1.
double thread_work_ratio(const Kernel& kernel, const TileAxes& axes, const Schedule& schedule,
                         std::int64_t channels);

/// A load or store. If `is_linear`, it is at offset + outer × outer_stride + … .
struct ResidentTileAccess {
  int buffer = -1;
  DType dtype = DType::f32;
  bool is_store = false;
  bool is_linear = false;
  std::int64_t offset = 0;
  std::int64_t outer_stride = 0;
  std::int64_t channel_stride = 0;
  std::int64_t segment_stride = 0;
  std::int64_t row_stride = 0;

  /// True if both accesses are linear and have the same address at every position.
  bool has_same_addresses(const ResidentTileAccess& other) const;
};
/// The loads and stores of `body`, along `axes`.
std::vector<ResidentTileAccess> accesses_of(const Program& program, const Kernel& kernel,
                                            const Body& body, const TileAxes& axes);

}  // namespace sinter
