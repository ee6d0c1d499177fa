// Splits reductions into one node per level of the reduction tree.
#include "compiler/lowering/lower_reductions.h"
#include "compiler/program/guards.h"
#include "compiler/program/reduction_tree.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

Guard merged_guard(Extent size) {
  return {.value = size,
          .low = 0,
          .high = kLargestMergedLevel,
          .reason = fmt::format("axes of up to {} elements are one level of a reduction",
                                kLargestMergedLevel)};
}

Guard separate_guard(Extent size) {
  return {.value = size,
          .low = kLargestMergedLevel + 1,
          .reason = fmt::format("axes of more than {} elements are separate levels of a reduction",
                                kLargestMergedLevel)};
}

/// True if `outer` directly precedes the axes of `level` and the last axis is not in `level`. Both
/// are then one axis of a reshaped operand, whose sum must have the same bits.
bool are_leading_neighbours(std::span<const Extent> shape, std::int64_t outer,
                            const AxesVector& level) {
  const auto is_one = [&](std::int64_t axis) {
    return shape[static_cast<std::size_t>(axis)].is(1);
  };
  std::int64_t last = static_cast<std::int64_t>(shape.size()) - 1;
  while (last > 0 && is_one(last)) --last;
  if (std::ranges::find(level, last) != level.end()) return false;
  std::int64_t next = outer + 1;
  while (next < level.front() && is_one(next)) ++next;
  return next == level.front();
}

}  // namespace

Levels levels_of(std::span<const Extent> shape, std::span<const std::int64_t> order,
                 const Facts& facts, std::vector<Guard>& guards) {
  Levels levels;
  Extent size = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const Extent extent = shape[static_cast<std::size_t>(*axis)];
    const Extent merged = size * extent;
    // With an extent of 1, the order of the elements is the same either way.
    const bool always = extent.is(1) || size.is(1) ||
                        (!levels.empty() && are_leading_neighbours(shape, *axis, levels.back()));
    const bool merges = always || evaluate(merged, facts.symbols) <= kLargestMergedLevel;
    if (!always) add_guard(guards, merges ? merged_guard(merged) : separate_guard(merged));
    if (levels.empty() || !merges) levels.emplace_back();
    size = merges ? merged : extent;
    levels.back().insert(levels.back().begin(), *axis);
  }
  return levels;
}

Tensor reduce_levels(Op op, Tensor x, const Levels& levels, Keep kept, Location location) {
  AxesVector removed;
  const auto new_axis = [&](std::int64_t axis) {
    if (kept == Keep::yes) return axis;
    return axis -
           std::ranges::count_if(removed, [&](std::int64_t before) { return before < axis; });
  };
  for (const AxesVector& level : levels) {
    AxesVector order;
    for (const std::int64_t axis : level) order.push_back(new_axis(axis));
    removed.append(level.begin(), level.end());
    const std::span<const Extent> shape = x.shape();
    const bool only_ones = std::ranges::all_of(
        order, [&](std::int64_t axis) { return shape[static_cast<std::size_t>(axis)].is(1); });
    if (op != Op::welford && only_ones) {
      if (kept == Keep::yes) continue;
      ShapeVector rest;
      for (int axis = 0; axis < x.rank(); ++axis)
        if (std::ranges::find(order, axis) == order.end())
          rest.push_back(shape[static_cast<std::size_t>(axis)]);
      x = reshape(Operand(x, location.file, location.line), rest);
      continue;
    }
    AxesVector axes = order;
    std::ranges::sort(axes);
    x = record_reduction(op, Operand(x, location.file, location.line), axes,
                         {.keep = kept, .order = order});
  }
  return x;
}

}  // namespace sinter
