// Finds the shapes outer × channels × rows that sections of a horizontally fused kernel visit.
#include <algorithm>

#include "compiler/body/footprint.h"
#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

namespace {

bool have_same_shape(const TileAxes& a, const TileAxes& b) {
  return a.outer == b.outer && a.channels == b.channels && a.segments == b.segments &&
         a.rows == b.rows;
}

/// True if `all` reduces all rows of a channel, and `one` those of each segment of it.
bool are_segments(const TileAxes& all, const TileAxes& one) {
  const bool has_channels =
      one.merges_outer ? one.channels % all.channels == 0 : one.channels == all.channels;
  const std::int64_t outer = one.merges_outer ? one.channels / all.channels : one.outer;
  return all.outer == 1 && has_channels && outer > 1 && one.rows > 1 &&
         outer * one.rows == all.rows;
}

/// The distinct shapes of `section_axes`. Shapes with merged axes count only if there are no
/// others.
std::vector<TileAxes> shapes_of(std::span<const std::optional<TileAxes>> section_axes) {
  std::vector<TileAxes> result;
  const auto add = [&](const TileAxes& shape) {
    if (std::ranges::none_of(result,
                             [&](const TileAxes& known) { return have_same_shape(known, shape); }))
      result.push_back(shape);
  };
  for (const bool merges_outer : {false, true}) {
    if (!result.empty()) break;
    for (const std::optional<TileAxes>& axes : section_axes)
      if (axes && axes->rows > 1 && axes->merges_outer == merges_outer) add(*axes);
  }
  for (const std::optional<TileAxes>& all : section_axes)
    for (const std::optional<TileAxes>& one : section_axes)
      if (all && one && are_segments(*all, *one)) {
        TileAxes shape{.channels = all->channels, .segments = all->rows / one->rows};
        shape.rows = one->rows;
        add(shape);
      }
  return result;
}

}  // namespace

std::vector<ResidentTileShape> resident_tile_shapes(const FusedSections& sections,
                                                    std::span<const Schedule> schedules) {
  std::vector<std::optional<TileAxes>> section_axes;
  for (std::size_t i = 0; i < sections.size(); ++i)
    section_axes.push_back(
        tile_axes_of(sections[i], sections.bodies[i], schedules[i], sections.program.facts));
  std::vector<ResidentTileShape> result;
  for (const TileAxes& shape : shapes_of(section_axes)) {
    ResidentTileShape& next =
        result.emplace_back(ResidentTileShape{.shape = shape, .section_axes = section_axes});
    for (std::size_t i = 0; i < sections.size(); ++i) {
      std::optional<TileAxes>& axes = next.section_axes[i];
      if (!axes) continue;
      if (axes->merges_outer && axes->channels % shape.channels == 0)
        axes = with_channels(*axes, shape.channels);
      if (shape.segments > 1) axes = with_segments(sections[i], *axes, shape.segments);
      if (axes && !have_same_shape(*axes, shape)) axes.reset();
    }
  }
  return result;
}

bool is_resident_tile(const ResidentTiles& resident_tiles, const ResidentTileAccess& access) {
  bool is_whole = (access.outer_stride != 0 || resident_tiles.outer == 1) &&
                  access.channel_stride != 0 && access.row_stride != 0;
  // Either segments are contiguous, or the rows of all channels of one segment are.
  if (resident_tiles.segments > 1)
    is_whole &= access.channel_stride == 1
                    ? access.segment_stride == resident_tiles.rows * access.row_stride
                    : access.channel_stride == resident_tiles.rows && access.segment_stride != 0;
  return is_whole && access.is_linear && (access.channel_stride == 1 || access.row_stride == 1);
}

bool is_whole_array(const Program& program, const ResidentTiles& resident_tiles,
                    const ResidentTileAccess& access) {
  const Buffer& array = program.buffers[static_cast<std::size_t>(access.buffer)];
  const Extent elements = product(array.node->shape);
  return array.parent < 0 && elements.is_number() && access.is_linear && access.offset == 0 &&
         elements.number() == resident_tiles.outer * resident_tiles.channels *
                                  resident_tiles.elements_per_channel(access) &&
         array.elements.is_number() && array.elements.number() == elements.number();
}

std::int64_t loaded_elements(const FusedSections& sections, int buffer,
                             const std::function<bool(std::size_t section)>& counts) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (!counts(i)) continue;
    for (const Value& value : sections.bodies[i].values)
      if (value.kind == Value::Kind::load &&
          sections.program.buffer_of.lookup(value.node) == buffer)
        elements += evaluate(footprint_of(sections.bodies[i], value).elements,
                             sections.program.facts.symbols);
  }
  return elements;
}

bool writes_all_of(const FusedSections& sections, const Schedule& schedule,
                   std::span<const AccessedBuffers> accessed, std::size_t section, int buffer) {
  const Program& program = sections.program;
  const int parent = parent_or_self(program, buffer);
  if (program.buffers[static_cast<std::size_t>(buffer)].kind == Buffer::Kind::input ||
      schedule.tile > 0)
    return false;
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (i != section && accessed[i].stored.contains(parent)) return false;
  int stores = 0;
  for (const BodyStore& store : sections.bodies[section].stores) {
    if (sections[section].stores[static_cast<std::size_t>(store.request)].buffer != buffer)
      continue;
    if (!store.conditions.empty() || store.elements != product(store.node->shape) ||
        store.is_final || store.of_columns)
      return false;
    ++stores;
  }
  return stores == 1 && !accessed[section].loaded.contains(parent);
}

}  // namespace sinter
