// Recording of flip, as_strided and unfold: views that reverse axes or read elements repeatedly.
#include "ir/record/record.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

Tensor flip(Operand x, Axes axes) {
  GraphData& graph = graph_of("flip", x);
  const Node* node = x.tensor.node();
  AxesVector checked;
  for (const std::int64_t axis : axes) {
    const std::int64_t from_front = checked_axis("flip", axis, *node, x.location);
    if (std::ranges::find(checked, from_front) != checked.end())
      fail("flip", fmt::format("axis {} is repeated in [{}]", axis, fmt::join(axes, ", ")),
           x.location);
    // Reversing an axis of one element changes nothing.
    if (!node->shape[static_cast<std::size_t>(from_front)].is(1)) checked.push_back(from_front);
  }
  if (checked.empty()) return x.tensor;
  std::ranges::sort(checked);
  const Attribute attribute = {.integers = checked};
  return record_node(graph, Op::flip, node->dtype, {&node, 1}, node->shape, {&attribute, 1},
                     x.location);
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
         fmt::format("shape {} with strides {} and offset {} ends at element {} of the {} of {}; "
                     "all must exist",
                     to_string(shape), to_string(strides), to_string(offset), to_string(end),
                     to_string(elements), type_text(*node)),
         x.location);
  const Attribute attributes[] = {{.extents = shape}, {.extents = strides}, {.extent = offset}};
  return record_node(graph, Op::as_strided, node->dtype, {&node, 1}, shape, attributes, x.location);
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
  const std::int64_t from_front = checked_axis("unfold", axis, *node, x.location);
  const Extent extent = node->shape[static_cast<std::size_t>(from_front)];
  if (size < 1 || step < 1)
    fail("unfold", fmt::format("window {} with step {}; both must be at least 1", size, step),
         x.location);
  if (provably_less(extent, Extent(size)))
    fail("unfold",
         fmt::format("axis {} of {} is shorter than a window of {}", from_front, type_text(*node),
                     size),
         x.location);
  const ShapeVector shape = unfolded_shape(*node, static_cast<std::size_t>(from_front), size, step);
  check_shape("unfold", shape, x.location);
  const Attribute attributes[] = {{.integer = from_front}, {.integer = size}, {.integer = step}};
  return record_node(graph, Op::unfold, node->dtype, {&node, 1}, shape, attributes, x.location);
}

}  // namespace sinter
