#include "compiler/horizontal/memory_units.h"

#include <algorithm>

#include "compiler/body/collapse_axes.h"
#include "compiler/body_building/build_body.h"
#include "compiler/target/gpu_constants.h"
#include "compiler/tiling/column_split.h"
#include "compiler/tiling/transpose_tiles.h"
#include "ir/support/round_up.h"
#include "ir/support/sort_unique.h"

namespace sinter {

namespace {

/// The axes of a body over a space whose first axes count units. An axis that counts units and more
/// is split in two.
struct SplitAxes {
  struct OfUnits {
    int axis;
    std::int64_t weight;  ///< units per step along the axis
  };
  IndexSpace space;
  std::vector<Index> axes;  ///< the body's axes over `space`
  std::vector<OfUnits> of_units;
};

/// Maximum number of axes; an index space has few more.
constexpr int kMaxAxes = 48;

/// The leading axes that count `units`. If only a factor of the last one does, `rest` is the other
/// factor.
struct Prefix {
  int axes = 0;
  std::int64_t rest = 1;
};
std::optional<Prefix> prefix_of(const Body& body, std::int64_t units) {
  std::int64_t left = units;
  Prefix prefix;
  for (; left > 1; ++prefix.axes) {
    if (prefix.axes == body.parallel_axes || !body.space.extent(prefix.axes).is_number())
      return std::nullopt;
    const std::int64_t extent = body.space.extent(prefix.axes).number();
    if (extent == 0) return std::nullopt;
    if (left % extent == 0) {
      left /= extent;
    } else if (extent % left == 0) {
      prefix.rest = extent / left;
      left = 1;
    } else {
      return std::nullopt;
    }
  }
  return prefix;
}

std::optional<SplitAxes> split_by_units(const Body& body, std::int64_t units) {
  const std::optional<Prefix> prefix = prefix_of(body, units);
  if (!prefix || body.space.axis_count() > kMaxAxes) return std::nullopt;
  SplitAxes result;
  std::int64_t weight = units;
  for (int axis = 0; axis < body.space.axis_count(); ++axis) {
    const Extent extent = body.space.extent(axis);
    if (axis >= prefix->axes) {
      result.axes.push_back(result.space.add_axis(extent));
      continue;
    }
    const bool is_split = axis + 1 == prefix->axes && prefix->rest > 1;
    const std::int64_t places = extent.number() / (is_split ? prefix->rest : 1);
    weight /= places;
    result.of_units.push_back({result.space.axis_count(), weight});
    Index own = result.space.add_axis(places);
    if (is_split) {
      const Index within = result.space.add_axis(prefix->rest);
      own = result.space.add(result.space.scale(own, prefix->rest), within);
    }
    result.axes.push_back(std::move(own));
  }
  return result;
}

/// The body's axes, narrowed to the positions where all `conditions` hold.
std::vector<Index> narrowed_axes(SplitAxes& axes, const std::vector<Condition>& conditions) {
  std::vector<Index> result = axes.axes;
  for (const Condition& condition : conditions) {
    const Index& at = condition.at;
    if (at.terms.size() != 1 || at.terms[0].atom->kind != IndexAtom::Kind::axis ||
        !at.terms[0].coefficient.is(1) || !at.constant.is_number() ||
        !condition.begin.is_number() || !condition.end.is_number())
      continue;
    const int axis = at.terms[0].atom->axis;
    const Extent extent = at.terms[0].atom->divisor;
    const bool is_of_units = axis < static_cast<int>(axes.of_units.size());
    if (is_of_units || !extent.is_number() || axes.space.axis_count() >= kMaxAxes) continue;
    const std::int64_t begin =
        std::max<std::int64_t>(condition.begin.number() - at.constant.number(), 0);
    const std::int64_t end =
        std::min(condition.end.number() - at.constant.number(), extent.number());
    if (begin >= end) continue;
    result[static_cast<std::size_t>(axis)] =
        axes.space.add(axes.space.add_axis(end - begin), constant_index(begin));
  }
  return result;
}

/// The size of a unit's piece, if `recorded` provably stays in the piece of its unit.
std::optional<std::int64_t> piece_size(SplitAxes& axes, const Index& recorded,
                                       const std::vector<Condition>& conditions) {
  const Index at = axes.space.substitute(recorded, narrowed_axes(axes, conditions));
  std::optional<std::int64_t> size;
  Index within = at;
  for (const SplitAxes::OfUnits& own : axes.of_units) {
    if (axes.space.extent(own.axis).is(1)) continue;
    const std::optional<Extent> step = coefficient_of(at, own.axis);
    if (!step || !step->is_number() || step->number() % own.weight != 0) return std::nullopt;
    const std::int64_t piece = step->number() / own.weight;
    if (piece <= 0 || (size && *size != piece)) return std::nullopt;
    size = piece;
    within = axes.space.add(within, axes.space.scale(axes.space.axis(own.axis), -step->number()));
  }
  if (!size || !provably_within(within, *size)) return std::nullopt;
  return size;
}

}  // namespace

std::vector<std::int64_t> unit_counts(std::span<const Body> bodies) {
  std::vector<std::int64_t> numbers;
  for (const Body& body : bodies) {
    std::int64_t units = 1;
    for (int axis = 0; axis < body.parallel_axes; ++axis) {
      if (!body.space.extent(axis).is_number()) break;
      units *= body.space.extent(axis).number();
      if (units > 1) numbers.push_back(units);
      const std::int64_t alone = body.space.extent(axis).number();
      if (alone > 1) numbers.push_back(alone);
    }
  }
  // With more units, each would be too small for a block.
  constexpr std::int64_t kMaxUnits = 1 << 17;
  std::erase_if(numbers, [](std::int64_t number) { return number > kMaxUnits; });
  sort_unique(numbers);
  return numbers;
}

UnitStrips strips_of_units(const Kernel& kernel, const Body& body, const Schedule& schedule,
                           std::int64_t units) {
  const bool has_rows =
      kernel.kind == KernelKind::row_reduce && has_independent_blocks(kernel, body, schedule);
  const bool has_elements = kernel.kind == KernelKind::pointwise && schedule.tile == 0;
  if ((!has_rows && !has_elements) || kernel.foreach_list >= 0 || !constant_extents(body) ||
      body.parallel_axes < 2)
    return {};
  int axis = 1;
  UnitStrips strips{.outer = body.space.extent(0).number()};
  for (; axis < body.parallel_axes && body.space.extent(axis).number() % units != 0; ++axis)
    strips.outer *= body.space.extent(axis).number();
  if (axis == body.parallel_axes) return {};
  strips.strip = body.parallel_size().number() / (units * strips.outer);
  // Stores must still fill whole sectors, and vectors must not cross a strip.
  const bool is_wide = std::ranges::all_of(body.stores, [&](const BodyStore& store) {
    return store.varies || strips.strip * size_of(store.node->dtype) % kSectorBytes == 0;
  });
  const bool has_vectors = has_rows || strips.strip % schedule.vector == 0;
  return is_wide && has_vectors ? strips : UnitStrips{};
}

std::optional<TileAxes> unit_axes_of(const Kernel& kernel, const Body& body,
                                     const Schedule& schedule, const Facts& facts,
                                     std::int64_t units) {
  const std::optional<Prefix> prefix = prefix_of(body, units);
  if (!prefix || !constant_extents(body) || kernel.foreach_list >= 0) return std::nullopt;
  TileAxes axes{.channels = units};
  axes.positions_per_unit = body.parallel_size().number() / units;
  // A block with a tile of the last axes stays at one position of the others.
  const auto others_are_units = [&](int last) {
    return prefix->axes < last || (prefix->axes == last && prefix->rest == 1);
  };
  const int last = body.parallel_axes - 1;
  switch (kernel.kind) {
    case KernelKind::column_reduce: {
      if (!has_independent_blocks(kernel, body, schedule) || last < 0 || !others_are_units(last))
        return std::nullopt;
      const std::int64_t columns = body.space.extent(last).number();
      axes.blocks_per_unit =
          axes.positions_per_unit / columns * divide_up(columns, columns_of(schedule));
      break;
    }
    case KernelKind::row_reduce:
      if (!has_independent_blocks(kernel, body, schedule)) return std::nullopt;
      break;
    case KernelKind::pointwise: {
      if (schedule.tile == 0) break;
      const int tiled = tiled_accesses(body, facts).axis;
      if (tiled < 0 || !others_are_units(std::min(tiled, last))) return std::nullopt;
      const std::int64_t rows = body.space.extent(tiled).number();
      const std::int64_t columns = body.space.extent(last).number();
      axes.blocks_per_unit = axes.positions_per_unit / (rows * columns) *
                             divide_up(rows, schedule.tile) * divide_up(columns, schedule.tile);
      break;
    }
    default: return std::nullopt;
  }
  return axes;
}

namespace {

std::vector<ResidentTileAccess> accesses_in_units(const Program& program, const Kernel& kernel,
                                                  const Body& body, std::int64_t units) {
  std::vector<ResidentTileAccess> result;
  std::optional<SplitAxes> shared = split_by_units(body, units);
  if (!shared) return result;
  const auto add = [&](ResidentTileAccess access, const Index& at,
                       const std::vector<Condition>& conditions) {
    // Narrowed axes apply to one access only.
    std::optional<SplitAxes> own = conditions.empty() ? std::nullopt : split_by_units(body, units);
    if (const auto piece = piece_size(own ? *own : *shared, at, conditions)) {
      access.is_linear = true;
      access.channel_stride = *piece;
      access.row_stride = 1;
    }
    result.push_back(access);
  };
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load)
      add({.buffer = program.buffer_of.lookup(value.node), .dtype = value.dtype}, value.at,
          value.conditions);
  for (const BodyStore& store : body.stores)
    add({.buffer = kernel.stores[static_cast<std::size_t>(store.request)].buffer,
         .dtype = store.node->dtype,
         .is_store = true},
        store.at, store.conditions);
  return result;
}

}  // namespace

std::optional<UnitVisit> visit_in_units(const Program& program, const Kernel& kernel,
                                        const Body& body, const Schedule& schedule,
                                        std::int64_t units) {
  std::optional<UnitVisit> best;
  const auto consider = [&](const Body& visited, const UnitStrips& strips) {
    const std::optional<TileAxes> axes =
        unit_axes_of(kernel, visited, schedule, program.facts, units);
    if (!axes) return;
    UnitVisit next{*axes, accesses_in_units(program, kernel, visited, units)};
    next.axes.strip = strips.strip;
    next.axes.strip_outer = strips.outer;
    const auto linear = [](const UnitVisit& visit) {
      return std::ranges::count(visit.accesses, true, &ResidentTileAccess::is_linear);
    };
    if (!best || linear(next) > linear(*best)) best = std::move(next);
  };
  consider(body, {});
  const UnitStrips strips = strips_of_units(kernel, body, schedule, units);
  if (strips.strip > 0)
    consider(in_strips(body_of(program, kernel), strips.outer, strips.strip), strips);
  return best;
}

}  // namespace sinter
