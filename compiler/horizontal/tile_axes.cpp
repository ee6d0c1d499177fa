#include "compiler/horizontal/tile_axes.h"

#include "compiler/tiling/column_split.h"
#include "compiler/tiling/transpose_tiles.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// The parallel axes with more than one position.
std::vector<int> long_parallel_axes(const Body& body, std::span<const std::int64_t> extents) {
  std::vector<int> axes;
  for (int axis = 0; axis < body.parallel_axes; ++axis)
    if (extents[static_cast<std::size_t>(axis)] > 1) axes.push_back(axis);
  return axes;
}

void set_axis_extents(TileAxes& axes, std::span<const std::int64_t> extents) {
  const auto of = [&](int axis) {
    return axis < 0 ? std::int64_t{1} : extents[static_cast<std::size_t>(axis)];
  };
  axes.outer = of(axes.outer_axis);
  axes.channels = of(axes.channel_axis);
  axes.rows = of(axes.row_axis);
}

/// Uses the one or two axes in `parallel` as channel axis and outer axis. Returns false for other
/// numbers of axes.
bool set_axes(TileAxes& axes, std::span<const int> parallel) {
  if (parallel.empty() || parallel.size() > 2) return false;
  axes.channel_axis = parallel.back();
  axes.merges_outer = parallel.size() == 1;
  if (parallel.size() == 2) axes.outer_axis = parallel.front();
  return true;
}

/// Columns, rows or elements of one block, depending on the kind of `kernel`.
std::int64_t work_per_block(const Kernel& kernel, const Schedule& schedule) {
  switch (kernel.kind) {
    case KernelKind::column_reduce: return columns_of(schedule);
    case KernelKind::row_reduce: return schedule.rows_per_block;
    default: return std::int64_t{schedule.threads} * schedule.vector * schedule.unroll;
  }
}

/// The positions per channel (or unit) that the blocks of `kernel` share.
std::int64_t positions_per_channel(const Kernel& kernel, const TileAxes& axes) {
  if (axes.positions_per_unit > 0) return axes.positions_per_unit;
  return kernel.kind == KernelKind::pointwise ? axes.rows : axes.rows_per_channel();
}

}  // namespace

std::optional<std::vector<std::int64_t>> constant_extents(const Body& body) {
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < body.space.axis_count(); ++axis) {
    const Extent extent = body.space.extent(axis);
    if (!extent.is_number() || extent.is(0)) return std::nullopt;
    extents.push_back(extent.number());
  }
  return extents;
}

bool has_independent_blocks(const Kernel& kernel, const Body& body, const Schedule& schedule) {
  return !schedule.in_shared && body.finals.empty() && body.columns.empty() &&
         schedule.cluster == 1 && schedule.splits == 1 && !schedule.splits_rows &&
         kernel.foreach_list < 0;
}

std::optional<TileAxes> tile_axes_of(const Kernel& kernel, const Body& body,
                                     const Schedule& schedule, const Facts& facts) {
  const auto extents = constant_extents(body);
  if (!extents) return std::nullopt;
  std::vector<int> parallel = long_parallel_axes(body, *extents);
  TileAxes axes;
  switch (kernel.kind) {
    case KernelKind::column_reduce:
    case KernelKind::row_reduce:
      if (!has_independent_blocks(kernel, body, schedule) || !set_axes(axes, parallel))
        return std::nullopt;
      axes.row_axis = body.reduced_axis();
      if (kernel.kind == KernelKind::row_reduce) break;
      // A block has adjacent columns at one outer position.
      axes.merges_outer = false;
      if (axes.channel_axis != body.parallel_axes - 1) return std::nullopt;
      break;
    case KernelKind::pointwise: {
      if (kernel.foreach_list >= 0 || parallel.size() < 2) return std::nullopt;
      axes.row_axis = body.parallel_axes - 1;
      if (parallel.back() != axes.row_axis) return std::nullopt;
      parallel.pop_back();
      if (schedule.tile > 0) {
        axes.channel_axis = tiled_accesses(body, facts).axis;
        std::erase(parallel, axes.channel_axis);
        if (parallel.size() > 1 || axes.channel_axis == axes.row_axis) return std::nullopt;
        if (!parallel.empty()) axes.outer_axis = parallel.front();
      } else if (!set_axes(axes, parallel)) {
        return std::nullopt;
      }
      break;
    }
    default: return std::nullopt;
  }
  set_axis_extents(axes, *extents);
  return axes;
}

std::optional<TileAxes> channel_axes_of(const Kernel& kernel, const Body& body,
                                        const Schedule& schedule) {
  const auto extents = constant_extents(body);
  if (!extents || kernel.foreach_list >= 0) return std::nullopt;
  const std::vector<int> parallel = long_parallel_axes(body, *extents);
  if (parallel.size() != 1) return std::nullopt;
  TileAxes axes{.channel_axis = parallel[0]};
  switch (kernel.kind) {
    case KernelKind::column_reduce:
    case KernelKind::row_reduce:
      if (!has_independent_blocks(kernel, body, schedule)) return std::nullopt;
      axes.outer_axis = body.reduced_axis();
      break;
    case KernelKind::pointwise:
      if (schedule.tile > 0) return std::nullopt;
      break;
    default: return std::nullopt;
  }
  set_axis_extents(axes, *extents);
  return axes;
}

TileAxes with_channels(TileAxes axes, std::int64_t channels) {
  if (!axes.merges_outer) return axes;
  axes.outer = axes.channels / channels;
  axes.channels = channels;
  return axes;
}

std::optional<TileAxes> with_segments(const Kernel& kernel, TileAxes axes, std::int64_t segments) {
  axes.reduces_all_segments = axes.outer == 1;
  const bool has_segments =
      axes.reduces_all_segments ? axes.rows % segments == 0 : axes.outer == segments;
  if (kernel.kind == KernelKind::pointwise || !has_segments) return std::nullopt;
  if (axes.reduces_all_segments) axes.rows /= segments;
  axes.outer = 1;
  axes.segments = segments;
  return axes;
}

std::int64_t blocks_per_resident_tile(const Kernel& kernel, const TileAxes& axes,
                                      const Schedule& schedule, std::int64_t channels) {
  if (axes.blocks_per_unit > 0) return channels * axes.blocks_per_unit;
  if (axes.positions_per_unit == 0 && kernel.kind == KernelKind::pointwise && schedule.tile > 0)
    return divide_up(channels, schedule.tile) * divide_up(axes.rows, schedule.tile);
  return divide_up(channels * positions_per_channel(kernel, axes),
                   work_per_block(kernel, schedule));
}

double thread_work_ratio(const Kernel& kernel, const TileAxes& axes, const Schedule& schedule,
                         std::int64_t channels) {
  const auto blocks =
      static_cast<double>(blocks_per_resident_tile(kernel, axes, schedule, channels));
  const double per_block = schedule.tile > 0
                               ? double(schedule.tile) * schedule.tile
                               : static_cast<double>(work_per_block(kernel, schedule));
  return blocks * per_block /
         (static_cast<double>(channels) * static_cast<double>(positions_per_channel(kernel, axes)));
}

std::optional<int> block_limit_for_tiles(const Kernel& kernel, const TileAxes& axes,
                                         const Schedule& schedule, std::int64_t channels) {
  // 16 elements of any dtype are a multiple of 16 bytes, so vectors along channels stay aligned.
  constexpr std::int64_t kWidest = 16;
  if (axes.blocks_per_unit > 0) return 0;
  if (axes.positions_per_unit > 0) {
    const std::int64_t end = channels * axes.positions_per_unit;
    if (kernel.kind == KernelKind::pointwise && end % schedule.vector != 0) return std::nullopt;
    return end % work_per_block(kernel, schedule) == 0 ? 0 : static_cast<int>(end);
  }
  const bool has_all_channels = channels == axes.channels;
  std::int64_t limit = channels * axes.rows_per_channel();
  std::int64_t per_block = work_per_block(kernel, schedule);
  switch (kernel.kind) {
    case KernelKind::column_reduce:
      if (has_all_channels) return 0;
      break;
    case KernelKind::row_reduce: break;
    default:
      if (schedule.tile == 0) {
        limit *= axes.rows;
        if (limit % schedule.vector != 0) return std::nullopt;
      } else {
        if (has_all_channels) return 0;
        per_block = schedule.tile;
      }
  }
  if (limit % per_block == 0) return 0;
  const bool may_have_vectors = kernel.kind == KernelKind::column_reduce || schedule.tile > 0;
  if (may_have_vectors && limit % kWidest != 0) return std::nullopt;
  return static_cast<int>(limit);
}

bool ResidentTileAccess::has_same_addresses(const ResidentTileAccess& other) const {
  return is_linear && other.is_linear && offset == other.offset &&
         outer_stride == other.outer_stride && channel_stride == other.channel_stride &&
         segment_stride == other.segment_stride && row_stride == other.row_stride;
}

namespace {

/// True for the segment of the row axis, or for the row within its segment.
bool is_of_rows(const IndexAtom& atom, const TileAxes& axes) {
  return axes.reduces_all_segments && atom.divisor.is(axes.rows) && atom.numerator.constant.is(0) &&
         atom.numerator.terms.size() == 1 && atom.numerator.terms[0].coefficient.is(1) &&
         atom.numerator.terms[0].atom->kind == IndexAtom::Kind::axis &&
         atom.numerator.terms[0].atom->axis == axes.row_axis;
}

/// Sets the strides of `access` along `axes`. Sets `is_linear` only if `at` is a sum of constant
/// multiples of these axes.
void set_strides(ResidentTileAccess& access, const Index& at, const TileAxes& axes) {
  if (!at.constant.is_number()) return;
  access.offset = at.constant.number();
  for (const IndexTerm& term : at.terms) {
    if (!term.coefficient.is_number()) return;
    const std::int64_t stride = term.coefficient.number();
    if (term.atom->kind == IndexAtom::Kind::quotient && is_of_rows(*term.atom, axes)) {
      access.segment_stride += stride;
      continue;
    }
    if (term.atom->kind == IndexAtom::Kind::remainder && is_of_rows(*term.atom, axes)) {
      access.row_stride += stride;
      continue;
    }
    if (term.atom->kind != IndexAtom::Kind::axis) return;
    if (term.atom->axis == axes.channel_axis) {
      access.channel_stride = stride;
      if (axes.merges_outer) access.outer_stride = stride * axes.channels;
    } else if (term.atom->axis == axes.outer_axis) {
      access.outer_stride = stride;
    } else if (term.atom->axis == axes.row_axis) {
      access.row_stride += stride;
      if (axes.reduces_all_segments) access.segment_stride += stride * axes.rows;
    } else {
      return;
    }
  }
  if (axes.segments > 1) {
    if (!axes.reduces_all_segments) access.segment_stride = access.outer_stride;
    access.outer_stride = 0;
  }
  access.is_linear = true;
}

}  // namespace

std::vector<ResidentTileAccess> accesses_of(const Program& program, const Kernel& kernel,
                                            const Body& body, const TileAxes& axes) {
  std::vector<ResidentTileAccess> result;
  for (const Value& value : body.values) {
    if (value.kind != Value::Kind::load) continue;
    ResidentTileAccess access{.buffer = program.buffer_of.lookup(value.node), .dtype = value.dtype};
    if (value.conditions.empty()) set_strides(access, value.at, axes);
    result.push_back(access);
  }
  for (const BodyStore& store : body.stores) {
    ResidentTileAccess access{
        .buffer = kernel.stores[static_cast<std::size_t>(store.request)].buffer,
        .dtype = store.node->dtype,
        .is_store = true};
    if (store.conditions.empty() && !store.is_segment) set_strides(access, store.at, axes);
    result.push_back(access);
  }
  return result;
}

}  // namespace sinter
