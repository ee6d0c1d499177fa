#include "compiler/horizontal/tile_walk.h"

#include <algorithm>

#include "compiler/tiling/column_split.h"
#include "compiler/tiling/transpose_tiles.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// The extents of all axes; none where one of them is not a number.
std::optional<std::vector<std::int64_t>> numbers_of(const Body& body) {
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < body.space.axis_count(); ++axis) {
    if (!body.space.extent(axis).is_number()) return std::nullopt;
    extents.push_back(body.space.extent(axis).number());
  }
  return extents;
}

/// The axes that stay and have more than one place.
std::vector<int> long_parallel_axes(const Body& body, std::span<const std::int64_t> extents) {
  std::vector<int> axes;
  for (int axis = 0; axis < body.parallel_axes; ++axis)
    if (extents[static_cast<std::size_t>(axis)] > 1) axes.push_back(axis);
  return axes;
}

void set_walk_extents(TileWalk& walk, std::span<const std::int64_t> extents) {
  const auto of = [&](int axis) {
    return axis < 0 ? std::int64_t{1} : extents[static_cast<std::size_t>(axis)];
  };
  walk.outer = of(walk.outer_axis);
  walk.channels = of(walk.channel_axis);
  walk.rows = of(walk.row_axis);
}

/// Sets channel and outer axes to the one or two in `axes`.
bool set_axes(TileWalk& walk, std::span<const int> axes) {
  if (axes.empty() || axes.size() > 2) return false;
  walk.channel_axis = axes.back();
  walk.is_merged = axes.size() == 1;
  if (axes.size() == 2) walk.outer_axis = axes.front();
  return true;
}

}  // namespace

bool has_blocks_apart(const Kernel& kernel, const Body& body, const Schedule& schedule) {
  return !schedule.in_shared && body.finals.empty() && body.columns.empty() &&
         schedule.cluster == 1 && schedule.splits == 1 && !schedule.splits_rows && kernel.foreach_list < 0;
}

std::optional<TileWalk> walk_of_resident_tiles(const Kernel& kernel, const Body& body,
                                               const Schedule& schedule, const Facts& facts) {
  const auto extents = numbers_of(body);
  if (!extents) return std::nullopt;
  std::vector<int> axes = long_parallel_axes(body, *extents);
  TileWalk walk;
  switch (kernel.kind) {
    case KernelKind::column_reduce:
      if (!has_blocks_apart(kernel, body, schedule)) return std::nullopt;
      walk.row_axis = body.reduced_axis();
      if (axes.empty() || axes.back() != body.parallel_axes - 1 || axes.size() > 2)
        return std::nullopt;
      walk.channel_axis = axes.back();
      if (axes.size() == 2) walk.outer_axis = axes.front();
      break;
    case KernelKind::row_reduce:
      if (!has_blocks_apart(kernel, body, schedule)) return std::nullopt;
      walk.row_axis = body.reduced_axis();
      if (!set_axes(walk, axes)) return std::nullopt;
      break;
    case KernelKind::pointwise: {
      if (kernel.foreach_list >= 0 || axes.size() < 2) return std::nullopt;
      walk.row_axis = body.parallel_axes - 1;
      if (axes.back() != walk.row_axis) return std::nullopt;
      axes.pop_back();
      if (schedule.tile > 0) {
        walk.channel_axis = tiled_accesses(body, facts).axis;
        std::erase(axes, walk.channel_axis);
        if (axes.size() > 1 || walk.channel_axis == walk.row_axis) return std::nullopt;
        if (!axes.empty()) walk.outer_axis = axes.front();
      } else if (!set_axes(walk, axes)) {
        return std::nullopt;
      }
      break;
    }
    default: return std::nullopt;
  }
  set_walk_extents(walk, *extents);
  return walk;
}

std::optional<TileWalk> walk_of_channels(const Kernel& kernel, const Body& body,
                                         const Schedule& schedule) {
  const auto extents = numbers_of(body);
  if (!extents || kernel.foreach_list >= 0) return std::nullopt;
  const std::vector<int> axes = long_parallel_axes(body, *extents);
  if (axes.size() != 1) return std::nullopt;
  TileWalk walk{.channel_axis = axes[0]};
  switch (kernel.kind) {
    case KernelKind::column_reduce:
    case KernelKind::row_reduce:
      if (!has_blocks_apart(kernel, body, schedule)) return std::nullopt;
      walk.outer_axis = body.reduced_axis();
      break;
    case KernelKind::pointwise:
      if (schedule.tile > 0) return std::nullopt;
      break;
    default: return std::nullopt;
  }
  set_walk_extents(walk, *extents);
  return walk;
}

TileWalk with_channels(TileWalk walk, std::int64_t channels) {
  if (!walk.is_merged) return walk;
  walk.outer = walk.channels / channels;
  walk.channels = channels;
  return walk;
}

std::optional<TileWalk> with_segments(const Kernel& kernel, TileWalk walk, std::int64_t segments) {
  walk.has_all = walk.outer == 1;
  const bool has_segments = walk.has_all ? walk.rows % segments == 0 : walk.outer == segments;
  if (kernel.kind == KernelKind::pointwise || !has_segments) return std::nullopt;
  if (walk.has_all) walk.rows /= segments;
  walk.outer = 1;
  walk.segments = segments;
  return walk;
}

std::int64_t blocks_per_resident_tile(const Kernel& kernel, const TileWalk& walk,
                                      const Schedule& schedule, std::int64_t channels) {
  if (walk.unit_blocks > 0) return channels * walk.unit_blocks;
  if (walk.unit_work > 0)
    return divide_up(channels * walk.unit_work, channels_per_block(kernel, schedule));
  if (kernel.kind != KernelKind::pointwise)
    return divide_up(channels * walk.rows_of_channel(), channels_per_block(kernel, schedule));
  if (schedule.tile == 0)
    return divide_up(channels * walk.rows, channels_per_block(kernel, schedule));
  return divide_up(channels, schedule.tile) * divide_up(walk.rows, schedule.tile);
}

double threads_over_work(const Kernel& kernel, const TileWalk& walk, const Schedule& schedule,
                         std::int64_t channels) {
  const auto blocks =
      static_cast<double>(blocks_per_resident_tile(kernel, walk, schedule, channels));
  const auto work = static_cast<double>(channels);
  const double per_block = schedule.tile > 0
                               ? double(schedule.tile) * schedule.tile
                               : static_cast<double>(channels_per_block(kernel, schedule));
  if (walk.unit_work > 0) return blocks * per_block / (work * static_cast<double>(walk.unit_work));
  if (kernel.kind != KernelKind::pointwise)
    return blocks * per_block / (work * static_cast<double>(walk.rows_of_channel()));
  return blocks * per_block / (work * static_cast<double>(walk.rows));
}

std::optional<int> stop_at_resident_tiles(const Kernel& kernel, const TileWalk& walk,
                                          const Schedule& schedule, std::int64_t channels) {
  // Vectors along channels begin at multiples of 16 bytes of whichever dtype.
  constexpr std::int64_t kWidest = 16;
  if (walk.unit_blocks > 0) return 0;
  if (walk.unit_work > 0) {
    const std::int64_t end = channels * walk.unit_work;
    if (kernel.kind == KernelKind::pointwise && end % schedule.vector != 0) return std::nullopt;
    return end % channels_per_block(kernel, schedule) == 0 ? 0 : static_cast<int>(end);
  }
  const bool has_all = channels == walk.channels;
  std::int64_t stop = channels * walk.rows_of_channel();
  std::int64_t per_block = channels_per_block(kernel, schedule);
  switch (kernel.kind) {
    case KernelKind::column_reduce:
      if (has_all) return 0;
      break;
    case KernelKind::row_reduce: break;
    default:
      if (schedule.tile == 0) {
        stop *= walk.rows;
        if (stop % schedule.vector != 0) return std::nullopt;
      } else {
        if (has_all) return 0;
        per_block = schedule.tile;
      }
  }
  if (stop % per_block == 0) return 0;
  const bool may_have_vectors = kernel.kind == KernelKind::column_reduce || schedule.tile > 0;
  if (may_have_vectors && stop % kWidest != 0) return std::nullopt;
  return static_cast<int>(stop);
}

std::int64_t channels_per_block(const Kernel& kernel, const Schedule& schedule) {
  switch (kernel.kind) {
    case KernelKind::column_reduce: return columns_of(schedule);
    case KernelKind::row_reduce: return schedule.rows_per_block;
    default: return std::int64_t{schedule.threads} * schedule.vector * schedule.unroll;
  }
}

bool ResidentTileAccess::is_alike(const ResidentTileAccess& other) const {
  return is_linear && other.is_linear && offset == other.offset &&
         outer_stride == other.outer_stride && channel_stride == other.channel_stride &&
         segment_stride == other.segment_stride && row_stride == other.row_stride;
}

namespace {

/// True for the row axis' segment, or the row within it.
bool is_of_rows(const IndexAtom& atom, const TileWalk& walk) {
  return walk.has_all && atom.divisor.is(walk.rows) && atom.numerator.constant.is(0) &&
         atom.numerator.terms.size() == 1 && atom.numerator.terms[0].coefficient.is(1) &&
         atom.numerator.terms[0].atom->kind == IndexAtom::Kind::axis &&
         atom.numerator.terms[0].atom->axis == walk.row_axis;
}

/// Sets the strides of `access` to what `at` has for the axes of `walk`.
void set_strides(ResidentTileAccess& access, const Index& at, const TileWalk& walk) {
  if (!at.constant.is_number()) return;
  access.offset = at.constant.number();
  for (const IndexTerm& term : at.terms) {
    if (!term.coefficient.is_number()) return;
    const std::int64_t stride = term.coefficient.number();
    if (term.atom->kind == IndexAtom::Kind::quotient && is_of_rows(*term.atom, walk)) {
      access.segment_stride += stride;
      continue;
    }
    if (term.atom->kind == IndexAtom::Kind::remainder && is_of_rows(*term.atom, walk)) {
      access.row_stride += stride;
      continue;
    }
    if (term.atom->kind != IndexAtom::Kind::axis) return;
    if (term.atom->axis == walk.channel_axis) {
      access.channel_stride = stride;
      if (walk.is_merged) access.outer_stride = stride * walk.channels;
    } else if (term.atom->axis == walk.outer_axis) {
      access.outer_stride = stride;
    } else if (term.atom->axis == walk.row_axis) {
      access.row_stride += stride;
      if (walk.has_all) access.segment_stride += stride * walk.rows;
    } else {
      return;
    }
  }
  if (walk.segments > 1) {
    if (!walk.has_all) access.segment_stride = access.outer_stride;
    access.outer_stride = 0;
  }
  access.is_linear = true;
}

}  // namespace

std::vector<ResidentTileAccess> accesses_of(const Program& program, const Kernel& kernel,
                                            const Body& body, const TileWalk& walk) {
  std::vector<ResidentTileAccess> result;
  for (const Value& value : body.values) {
    if (value.kind != Value::Kind::load) continue;
    ResidentTileAccess access{.buffer = program.buffer_of.lookup(value.node), .dtype = value.dtype};
    if (value.conditions.empty()) set_strides(access, value.at, walk);
    result.push_back(access);
  }
  for (const BodyStore& store : body.stores) {
    ResidentTileAccess access{
        .buffer = kernel.stores[static_cast<std::size_t>(store.request)].buffer,
        .dtype = store.node->dtype,
        .is_store = true};
    if (store.conditions.empty() && !store.is_segment) set_strides(access, store.at, walk);
    result.push_back(access);
  }
  return result;
}

}  // namespace sinter
