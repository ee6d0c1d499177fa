// How the sections of a horizontally fused kernel go through arrays of the shape outer × channels ×
// rows, whichever of these axes lies where in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The axes of a body in these terms. A resident tile is one place of `outer` with neighbouring
/// channels and all their rows. Where channels are few enough for that, it has all of `outer`,
/// whose places are then the *segments* of a channel's rows.
struct TileWalk {
  int outer_axis = -1;  ///< -1: of extent 1
  int channel_axis = -1;
  int row_axis = -1;
  /// The channel axis counts outer × channels, channels first.
  bool is_merged = false;
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t segments = 1;  ///< what is reduced are the rows of one segment each …
  bool has_all = false;  ///< … or of all of them at once: the row axis counts segments × rows
  std::int64_t rows = 1;
  /// Units of memory instead (unit_walk.h): each of the channels is one, for which blocks deal out
  /// so many places. 0: there are none.
  std::int64_t unit_work = 0;
  /// Blocks of each unit, where none goes beyond one anyway; 0: they might.
  std::int64_t unit_blocks = 0;
  /// Where units are not the first axes: a body in strips (Schedule::strips) has them first.
  std::int64_t strip = 0;
  std::int64_t strip_outer = 1;

  /// Rows of the body for each channel of a resident tile.
  std::int64_t rows_of_channel() const { return has_all ? 1 : segments; }
};

/// True for reductions whose blocks have nothing to do with one another.
bool has_blocks_apart(const Kernel& kernel, const Body& body, const Schedule& schedule);

/// A kernel that reduces rows of each place of outer × channels, or goes through all three; nullopt
/// if its blocks do not each stay within a resident tile.
std::optional<TileWalk> walk_of_resident_tiles(const Kernel& kernel, const Body& body,
                                               const Schedule& schedule, const Facts& facts);
/// A kernel whose blocks each have some channels: it reduces `outer`, or nothing.
std::optional<TileWalk> walk_of_channels(const Kernel& kernel, const Body& body,
                                         const Schedule& schedule);
/// `walk`, of which channels and places of outer are told apart.
TileWalk with_channels(TileWalk walk, std::int64_t channels);
/// `walk` within resident tiles that have all of outer: its places are segments; of a walk without
/// outer, the row axis counts so many. nullopt for kernels that do not go through rows in strips.
std::optional<TileWalk> with_segments(const Kernel& kernel, TileWalk walk, std::int64_t segments);

/// Blocks of a section that goes through resident tiles of so many channels, per resident tile.
std::int64_t blocks_per_resident_tile(const Kernel& kernel, const TileWalk& walk,
                                      const Schedule& schedule, std::int64_t channels);
/// Schedule::stop of such a section: where its blocks must end so that none has work in two
/// resident tiles. 0 where they do anyway; nullopt where vectors would not.
std::optional<int> stop_at_resident_tiles(const Kernel& kernel, const TileWalk& walk,
                                          const Schedule& schedule, std::int64_t channels);
/// The places that blocks of a resident tile have threads for, over those there are.
double threads_over_work(const Kernel& kernel, const TileWalk& walk, const Schedule& schedule,
                         std::int64_t channels);
/// Channels of one block of a section that goes through channels.
std::int64_t channels_per_block(const Kernel& kernel, const Schedule& schedule);

/// A load or store: the element at offset + outer × outer_stride + …, where `is_linear`.
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

  /// True if `other` finds every place of outer, channels and rows where this one does.
  bool is_alike(const ResidentTileAccess& other) const;
};
std::vector<ResidentTileAccess> accesses_of(const Program& program, const Kernel& kernel,
                                            const Body& body, const TileWalk& walk);

}  // namespace sinter
