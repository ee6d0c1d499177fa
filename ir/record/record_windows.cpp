// Recording of flip, as_strided and unfold: views that reverse axes or read elements repeatedly.
#include "ir/record/record.h"
#include "ir/shape/strides.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

Tensor flip(Operand x, Axes axes) {
  const Node& node = node_of("flip", x);
  AxesVector checked;
  for (const std::int64_t axis : axes) {
    const std::int64_t from_front = checked_axis("flip", axis, node, x.location);
    if (std::ranges::find(checked, from_front) != checked.end())
      fail("flip", fmt::format("axis {} is repeated in [{}]", axis, fmt::join(axes, ", ")),
           x.location);
    // Reversing an axis of one element changes nothing.
    if (!node.shape[static_cast<std::size_t>(from_front)].is(1)) checked.push_back(from_front);
  }
  if (checked.empty()) return x.tensor;
  std::ranges::sort(checked);
  return record_unary(Op::flip, x, node.dtype, node.shape, {{.integers = checked}});
}

Tensor as_strided(Operand x, Extents shape, Extents strides, Extent offset) {
  const Node& node = node_of("as_strided", x);
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
  const Extent elements = product(node.shape);
  if (provably_negative(offset) || provably_less(elements, end))
    fail("as_strided",
         fmt::format("shape {} with strides {} and offset {} ends at element {} of the {} of {}; "
                     "all must exist",
                     to_string(shape), to_string(strides), to_string(offset), to_string(end),
                     to_string(elements), type_text(node)),
         x.location);
  return record_unary(Op::as_strided, x, node.dtype, shape,
                      {{.extents = shape}, {.extents = strides}, {.extent = offset}});
}

ShapeVector unfolded_shape(const Node& x, std::size_t axis, std::int64_t size, std::int64_t step) {
  ShapeVector shape(x.shape.begin(), x.shape.end());
  shape[axis] = slice_length(0, shape[axis] - Extent(size - 1), step);
  shape.push_back(size);
  return shape;
}

Tensor unfold(Operand x, int axis, std::int64_t size, std::int64_t step) {
  const Node& node = node_of("unfold", x);
  const std::int64_t from_front = checked_axis("unfold", axis, node, x.location);
  const Extent extent = node.shape[static_cast<std::size_t>(from_front)];
  if (size < 1 || step < 1)
    fail("unfold", fmt::format("window {} with step {}; both must be at least 1", size, step),
         x.location);
  if (provably_less(extent, Extent(size)))
    fail("unfold",
         fmt::format("axis {} of {} is shorter than a window of {}", from_front, type_text(node),
                     size),
         x.location);
  const ShapeVector shape = unfolded_shape(node, static_cast<std::size_t>(from_front), size, step);
  check_shape("unfold", shape, x.location);
  return record_unary(Op::unfold, x, node.dtype, shape,
                      {{.integer = from_front}, {.integer = size}, {.integer = step}});
}

}  // namespace sinter
