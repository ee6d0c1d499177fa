#include "ir/library_ops/conv_shape.h"

#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

/// `list` for `spatial` axes; `otherwise` for each axis if it is empty.
AxesVector filled(std::string_view op, std::string_view name, std::span<const std::int64_t> list,
                  std::size_t spatial, std::span<const std::int64_t> otherwise,
                  std::int64_t smallest, Location location) {
  if (list.empty()) list = otherwise;
  if (list.size() != spatial)
    fail(op,
         fmt::format("{} has {} numbers, [{}]; give one for each of the {} spatial axes", name,
                     list.size(), fmt::join(list, ", "), spatial),
         location);
  for (const std::int64_t number : list)
    if (number < smallest || number > std::numeric_limits<int>::max())
      fail(op, fmt::format("{} has {}; it must be at least {} and fit an int", name, number,
                           smallest),
           location);
  return {list.begin(), list.end()};
}

AxesVector list_of(const Node& node, std::string_view name) {
  const std::span<const std::int64_t> list = attribute(node, name).integers;
  return {list.begin(), list.end()};
}

/// The shape as a text such as `[n, c, 8, 8]`.
std::string text(std::span<const Extent> shape) { return to_string(shape); }

/// The result's extent along one spatial axis.
Extent conv_extent(Extent x, Extent w, const ConvGeometry& geometry, std::size_t axis) {
  const Extent reach = Extent(geometry.dilations[axis]) * (w - Extent(1)) + Extent(1);
  const Extent room =
      x + Extent(geometry.padding_begin[axis] + geometry.padding_end[axis]) - reach;
  return floor_div(room, geometry.strides[axis]) + Extent(1);
}

}  // namespace

ConvGeometry conv_geometry(std::string_view op, const ConvOptions& options, int spatial,
                           Location location) {
  const auto count = static_cast<std::size_t>(spatial);
  const AxesVector ones(count, 1);
  const AxesVector zeros(count, 0);
  ConvGeometry geometry;
  geometry.strides = filled(op, "strides", options.strides, count, ones, 1, location);
  geometry.dilations = filled(op, "dilations", options.dilations, count, ones, 1, location);
  geometry.padding_begin =
      filled(op, "padding_begin", options.padding_begin, count, zeros, 0, location);
  geometry.padding_end =
      filled(op, "padding_end", options.padding_end, count, geometry.padding_begin, 0, location);
  geometry.groups = options.groups;
  if (options.groups < 1)
    fail(op, fmt::format("groups is {}; it must be at least 1", options.groups), location);
  return geometry;
}

ConvGeometry conv_geometry(const Node& node) {
  return {.strides = list_of(node, "strides"),
          .dilations = list_of(node, "dilations"),
          .padding_begin = list_of(node, "padding_begin"),
          .padding_end = list_of(node, "padding_end"),
          .groups = attribute(node, "groups").integer};
}

ConvOptions conv_options(const Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  const auto list = [](const AxesVector& axes) {
    return std::vector<std::int64_t>(axes.begin(), axes.end());
  };
  return {.strides = list(geometry.strides),
          .dilations = list(geometry.dilations),
          .padding_begin = list(geometry.padding_begin),
          .padding_end = list(geometry.padding_end),
          .groups = geometry.groups,
          .allow_tf32 = attribute(node, "allow_tf32").integer != 0};
}

ShapeVector conv_shape(std::string_view op, std::span<const Extent> x, std::span<const Extent> w,
                       const ConvGeometry& geometry, Location location) {
  if (x.size() != w.size())
    fail(op,
         fmt::format("x has the shape {} and w {}; both must have the same number of axes", text(x),
                     text(w)),
         location);
  const Extent groups = geometry.groups;
  if (x[1] != w[1] * groups)
    fail(op,
         fmt::format("x {} has {} channels, and w {} takes {} in each of {} groups; the products "
                     "must be equal",
                     text(x), to_string(x[1]), text(w), to_string(w[1]), geometry.groups),
         location);
  if (w[0].is_number() && w[0].number() % geometry.groups != 0)
    fail(op,
         fmt::format("w {} has {} filters, which {} groups do not divide", text(w),
                     to_string(w[0]), geometry.groups),
         location);
  ShapeVector shape = {x[0], w[0]};
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis) {
    const Extent extent = conv_extent(x[axis + 2], w[axis + 2], geometry, axis);
    if (extent.is_number() && extent.number() < 1)
      fail(op,
           fmt::format("the filters reach over {} positions of spatial axis {}, which has {} with "
                       "its padding",
                       to_string(Extent(geometry.dilations[axis]) * (w[axis + 2] - Extent(1)) +
                                 Extent(1)),
                       axis,
                       to_string(x[axis + 2] + Extent(geometry.padding_begin[axis] +
                                                      geometry.padding_end[axis]))),
           location);
    shape.push_back(extent);
  }
  return shape;
}

void check_conv_operands(std::string_view op, const Node& a, const Node& b, Location location) {
  const bool is_known = a.dtype == f16 || a.dtype == bf16 || a.dtype == f32 || a.dtype == f64;
  if (a.dtype != b.dtype || !is_known)
    fail(op,
         fmt::format("the operands are {} and {}; both must be f16, bf16, f32 or f64; cast them",
                     type_text(a), type_text(b)),
         location);
  for (const Node* node : {&a, &b})
    if (node->rank() < 3 || node->rank() > 5)
      fail(op,
           fmt::format("an operand is {}; it must have 3 to 5 axes: two, then 1 to 3 spatial axes",
                       type_text(*node)),
           location);
}

}  // namespace sinter
