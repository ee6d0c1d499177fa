// Which shapes the members of a joined kernel go through.
#include <algorithm>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

namespace {

bool is_alike(const PanelWalk& a, const PanelWalk& b) {
  return a.outer == b.outer && a.channels == b.channels && a.segments == b.segments &&
         a.rows == b.rows;
}

/// True if `one` reduces the rows of each segment, of which `all` reduces all of a channel.
bool are_segments(const PanelWalk& all, const PanelWalk& one) {
  const bool has_channels =
      one.is_merged ? one.channels % all.channels == 0 : one.channels == all.channels;
  const std::int64_t outer = one.is_merged ? one.channels / all.channels : one.outer;
  return all.outer == 1 && has_channels && outer > 1 && one.rows > 1 &&
         outer * one.rows == all.rows;
}

/// What has no shape of its own, because its axes are merged, follows the others.
std::vector<PanelWalk> shapes_of(std::span<const std::optional<PanelWalk>> walks) {
  std::vector<PanelWalk> result;
  const auto add = [&](const PanelWalk& shape) {
    if (std::ranges::none_of(result,
                             [&](const PanelWalk& known) { return is_alike(known, shape); }))
      result.push_back(shape);
  };
  for (const bool is_merged : {false, true}) {
    if (!result.empty()) break;
    for (const std::optional<PanelWalk>& walk : walks)
      if (walk && walk->rows > 1 && walk->is_merged == is_merged) add(*walk);
  }
  for (const std::optional<PanelWalk>& all : walks)
    for (const std::optional<PanelWalk>& one : walks)
      if (all && one && are_segments(*all, *one)) {
        PanelWalk shape{.channels = all->channels, .segments = all->rows / one->rows};
        shape.rows = one->rows;
        add(shape);
      }
  return result;
}

}  // namespace

std::vector<PanelShape> panel_shapes(const Program& program, std::span<const Kernel> members,
                                     std::span<const Body> bodies,
                                     std::span<const Schedule> schedules) {
  std::vector<std::optional<PanelWalk>> walks;
  for (std::size_t i = 0; i < members.size(); ++i)
    walks.push_back(walk_of_panels(members[i], bodies[i], schedules[i], program.facts));
  std::vector<PanelShape> result;
  for (const PanelWalk& shape : shapes_of(walks)) {
    PanelShape& next = result.emplace_back(PanelShape{.shape = shape, .walks = walks});
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::optional<PanelWalk>& walk = next.walks[i];
      if (!walk) continue;
      if (walk->is_merged && walk->channels % shape.channels == 0)
        walk = with_channels(*walk, shape.channels);
      if (shape.segments > 1) walk = with_segments(members[i], *walk, shape.segments);
      if (walk && !is_alike(*walk, shape)) walk.reset();
    }
  }
  return result;
}

bool is_panel(const Panels& panels, const PanelAccess& access) {
  bool is_whole = (access.outer_stride != 0 || panels.outer == 1) && access.channel_stride != 0 &&
                  access.row_stride != 0;
  // Segments lie one behind the other, or the rows of all channels of one do.
  if (panels.segments > 1)
    is_whole &= access.channel_stride == 1
                    ? access.segment_stride == panels.rows * access.row_stride
                    : access.channel_stride == panels.rows && access.segment_stride != 0;
  return is_whole && access.is_linear && (access.channel_stride == 1 || access.row_stride == 1);
}

}  // namespace sinter
