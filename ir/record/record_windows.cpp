// Recording flip, as_strided and unfold: views that run backwards or read elements several times.
#include "ir/record/record.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

Tensor flip(Operand x, Axes axes) {
  GraphData& graph = graph_of("flip", x);
  const Node* node = x.tensor.node();
  AxesVector checked;
  for (const std::int64_t axis : axes) {
    const std::int64_t place = checked_axis("flip", axis, *node, x.location);
    if (std::ranges::find(checked, place) != checked.end())
      fail("flip", fmt::format("axis {} stands twice in [{}]", axis, fmt::join(axes, ", ")),
           x.location);
    // One element is the same either way.
    if (!node->shape[static_cast<std::size_t>(place)].is(1)) checked.push_back(place);
  }
  if (checked.empty()) return x.tensor;
  std::ranges::sort(checked);
  const Attribute attribute = {.integers = checked};
  return tensor(graph, graph.make({.op = Op::flip,
                                   .dtype = node->dtype,
                                   .operands = {&node, 1},
                                   .shape = node->shape,
                                   .attributes = {&attribute, 1}},
                                  x.location));
}

Extent strided_end(std::span<const Extent> shape, std::span<const Extent> strides, Extent offset) {
  Extent last = offset;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].is(0)) return 0;
    last = last + (shape[axis] - Extent(1)) * strides[axis];
  }
  return last + Extent(1);
}

Tensor as_strided(Operand x, Extents shape, Extents strides, Extent offset) {
  GraphData& graph = graph_of("as_strided", x);
  const Node* node = x.tensor.node();
  check_shape("as_strided", shape, x.location);
  if (shape.size() != strides.size())
    fail("as_strided",
         fmt::format("{} strides for the shape {}; give one per axis", strides.size(),
                     to_string(shape)),
         x.location);
  for (const Extent number : strides)
    if (provably_negative(number))
      fail("as_strided",
           fmt::format("the stride {} is negative; flip the result", to_string(number)),
           x.location);
  const Extent end = strided_end(shape, strides, offset);
  const Extent elements = product(node->shape);
  if (provably_negative(offset) || provably_less(elements, end))
    fail("as_strided",
         fmt::format("shape {} with strides {} from {} reaches up to element {} of the {} of {}",
                     to_string(shape), to_string(strides), to_string(offset), to_string(end),
                     to_string(elements), type_text(*node)),
         x.location);
  const Attribute attributes[] = {{.extents = shape}, {.extents = strides}, {.extent = offset}};
  return tensor(graph, graph.make({.op = Op::as_strided,
                                   .dtype = node->dtype,
                                   .operands = {&node, 1},
                                   .shape = shape,
                                   .attributes = attributes},
                                  x.location));
}

ShapeVector unfolded_shape(const Node& x, std::size_t axis, std::int64_t size, std::int64_t step) {
  ShapeVector shape(x.shape.begin(), x.shape.end());
  shape[axis] = slice_length(0, shape[axis] - Extent(size - 1), step);
  shape.push_back(size);
  return shape;
}

Tensor unfold(Operand x, int axis, std::int64_t size, std::int64_t step) {
  GraphData& graph = graph_of("unfold", x);
  const Node* node = x.tensor.node();
  const std::int64_t place = checked_axis("unfold", axis, *node, x.location);
  const Extent extent = node->shape[static_cast<std::size_t>(place)];
  if (size < 1 || step < 1)
    fail("unfold", fmt::format("windows of {}, {} apart; both must be at least 1", size, step),
         x.location);
  if (provably_less(extent, Extent(size)))
    fail("unfold",
         fmt::format("axis {} of {} is shorter than a window of {}", place, type_text(*node), size),
         x.location);
  const ShapeVector shape = unfolded_shape(*node, static_cast<std::size_t>(place), size, step);
  check_shape("unfold", shape, x.location);
  const Attribute attributes[] = {{.integer = place}, {.integer = size}, {.integer = step}};
  return tensor(graph, graph.make({.op = Op::unfold,
                                   .dtype = node->dtype,
                                   .operands = {&node, 1},
                                   .shape = shape,
                                   .attributes = attributes},
                                  x.location));
}

}  // namespace sinter
