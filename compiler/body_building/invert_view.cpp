// Maps positions of an operand's elements to positions in a view of it.
#include "compiler/body_building/store_mapping.h"
#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

std::optional<Site> invert_one_slice(IndexSpace& space, const Node& view, Site site) {
  // All copies of a value must be stored at the same relative offset.
  if (site.copies > 1) return std::nullopt;
  const auto axis = static_cast<std::size_t>(attribute(view, "axis").integer);
  const Extent begin = attribute(view, "begin").extent;
  const Extent step = attribute(view, "step").integer;
  Index& index = site.position[axis];
  if (!step.is(1)) {
    if (!begin.is_number()) return std::nullopt;
    const Extent rest = begin - floor_div(begin, step) * step;
    site.conditions.push_back({.at = space.without_bounds(space.modulo(index, step)),
                               .begin = rest,
                               .end = rest + Extent(1)});
    index = space.divide(index, step);
  }
  const Extent first = floor_div(begin, step);
  site.conditions.push_back(
      {.at = space.without_bounds(index), .begin = first, .end = first + view.shape[axis]});
  index =
      space.assume_bounded(space.add(index, constant_index(Extent(0) - first)), view.shape[axis]);
  return site;
}

std::optional<Site> invert_rotation(IndexSpace& space, const Node& take, Site site) {
  const std::optional<std::int64_t> shift = rotated_by(take);
  if (!shift) return std::nullopt;
  if (!site.complete_site) {
    Site complete = site;
    complete.node = take.operand(0);
    site.complete_site = std::make_shared<const Site>(std::move(complete));
  }
  const auto axis = static_cast<std::size_t>(attribute(take, "axis").integer);
  const Extent extent = take.shape[axis];
  const Index ahead = space.add(site.position[axis], constant_index(extent - Extent(*shift)));
  site.position[axis] = space.modulo(ahead, extent);
  return site;
}

}  // namespace

bool has_all_of_operand(const Node& view) {
  return view.op == Op::reshape || view.op == Op::permute || view.op == Op::flip;
}

bool rearranges(const Node& node) { return is_view(node) || rotated_by(node).has_value(); }

std::optional<Site> invert_view(IndexSpace& space, const Node& view, const Site& site) {
  const std::span<const Extent> from = view.operand(0)->shape;
  Site result = site;
  result.node = &view;
  switch (view.op) {
    case Op::slice: return invert_one_slice(space, view, std::move(result));
    case Op::take: return invert_rotation(space, view, std::move(result));
    case Op::flip: result.position = operand_index(space, view, 0, site.position); return result;
    case Op::permute: {
      const std::span<const std::int64_t> axes = attribute(view, "axes").integers;
      for (std::size_t axis = 0; axis < axes.size(); ++axis)
        result.position[axis] = site.position[static_cast<std::size_t>(axes[axis])];
      return result;
    }
    case Op::reshape:
    case Op::broadcast_to:
      if (product(from) != product(view.shape)) return std::nullopt;
      result.position = space.delinearize(space.linearize(site.position, from), view.shape);
      return result;
    default: return std::nullopt;
  }
}

std::optional<Site> invert_slice(IndexSpace& space, const Node& view, const Site& site) {
  if (view.op != Op::slice || site.complete_site) return std::nullopt;
  Site result = site;
  result.complete_site = std::make_shared<const Site>(site);
  return invert_view(space, view, result);
}

std::vector<Site> repeated(const Node& view, const Site& site) {
  // Each copy needs a store of its own.
  constexpr std::int64_t kMaxCopies = 8;
  if (view.op != Op::broadcast_to || site.complete_site) return {};
  const std::span<const Extent> from = view.operand(0)->shape;
  const std::size_t added = view.shape.size() - from.size();
  std::vector<std::size_t> expanded;
  std::int64_t copies = 1;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (axis >= added && from[axis - added] == view.shape[axis]) continue;
    if (!view.shape[axis].is_number() || view.shape[axis].number() > kMaxCopies) return {};
    expanded.push_back(axis);
    copies *= view.shape[axis].number();
    if (copies > kMaxCopies) return {};
  }
  if (copies < 2) return {};
  std::vector<Site> result;
  const auto complete = std::make_shared<const Site>(site);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    Site own = site;
    own.node = &view;
    own.complete_site = complete;
    own.copy = static_cast<int>(copy);
    own.copies = static_cast<int>(copies);
    own.position.insert(own.position.begin(), added, Index());
    std::int64_t rest = copy;
    for (std::size_t i = expanded.size(); i-- > 0;) {
      const std::int64_t extent = view.shape[expanded[i]].number();
      own.position[expanded[i]] = constant_index(rest % extent);
      rest /= extent;
    }
    result.push_back(std::move(own));
  }
  return result;
}

}  // namespace sinter
