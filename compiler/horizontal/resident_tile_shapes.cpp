// Which shapes the sections of a horizontally fused kernel go through.
#include <algorithm>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

namespace {

bool is_alike(const TileWalk& a, const TileWalk& b) {
  return a.outer == b.outer && a.channels == b.channels && a.segments == b.segments &&
         a.rows == b.rows;
}

/// True if `one` reduces the rows of each segment, of which `all` reduces all of a channel.
bool are_segments(const TileWalk& all, const TileWalk& one) {
  const bool has_channels =
      one.is_merged ? one.channels % all.channels == 0 : one.channels == all.channels;
  const std::int64_t outer = one.is_merged ? one.channels / all.channels : one.outer;
  return all.outer == 1 && has_channels && outer > 1 && one.rows > 1 &&
         outer * one.rows == all.rows;
}

/// What has no shape of its own, because its axes are merged, follows the others.
std::vector<TileWalk> shapes_of(std::span<const std::optional<TileWalk>> walks) {
  std::vector<TileWalk> result;
  const auto add = [&](const TileWalk& shape) {
    if (std::ranges::none_of(result, [&](const TileWalk& known) { return is_alike(known, shape); }))
      result.push_back(shape);
  };
  for (const bool is_merged : {false, true}) {
    if (!result.empty()) break;
    for (const std::optional<TileWalk>& walk : walks)
      if (walk && walk->rows > 1 && walk->is_merged == is_merged) add(*walk);
  }
  for (const std::optional<TileWalk>& all : walks)
    for (const std::optional<TileWalk>& one : walks)
      if (all && one && are_segments(*all, *one)) {
        TileWalk shape{.channels = all->channels, .segments = all->rows / one->rows};
        shape.rows = one->rows;
        add(shape);
      }
  return result;
}

}  // namespace

std::vector<ResidentTileShape> resident_tile_shapes(const Program& program,
                                                    std::span<const Kernel> sections,
                                                    std::span<const Body> bodies,
                                                    std::span<const Schedule> schedules) {
  std::vector<std::optional<TileWalk>> walks;
  for (std::size_t i = 0; i < sections.size(); ++i)
    walks.push_back(walk_of_resident_tiles(sections[i], bodies[i], schedules[i], program.facts));
  std::vector<ResidentTileShape> result;
  for (const TileWalk& shape : shapes_of(walks)) {
    ResidentTileShape& next =
        result.emplace_back(ResidentTileShape{.shape = shape, .walks = walks});
    for (std::size_t i = 0; i < sections.size(); ++i) {
      std::optional<TileWalk>& walk = next.walks[i];
      if (!walk) continue;
      if (walk->is_merged && walk->channels % shape.channels == 0)
        walk = with_channels(*walk, shape.channels);
      if (shape.segments > 1) walk = with_segments(sections[i], *walk, shape.segments);
      if (walk && !is_alike(*walk, shape)) walk.reset();
    }
  }
  return result;
}

bool is_resident_tile(const ResidentTiles& resident_tiles, const ResidentTileAccess& access) {
  bool is_whole = (access.outer_stride != 0 || resident_tiles.outer == 1) &&
                  access.channel_stride != 0 && access.row_stride != 0;
  // Segments lie one behind the other, or the rows of all channels of one do.
  if (resident_tiles.segments > 1)
    is_whole &= access.channel_stride == 1
                    ? access.segment_stride == resident_tiles.rows * access.row_stride
                    : access.channel_stride == resident_tiles.rows && access.segment_stride != 0;
  return is_whole && access.is_linear && (access.channel_stride == 1 || access.row_stride == 1);
}

}  // namespace sinter
