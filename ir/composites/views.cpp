// Views composed from reshape, permute, slice, broadcast_to and concat.
#include "sinter/views.h"

#include "ir/record/composite.h"
#include "ir/record/record.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace sinter {

namespace {

ShapeVector shape_of(const Operand& x) {
  return {x.tensor.node()->shape.begin(), x.tensor.node()->shape.end()};
}

/// `axis` counted from the front. Throws UserError if it is out of range.
std::size_t axis_from_front(std::string_view op, const Operand& x, std::int64_t axis) {
  return static_cast<std::size_t>(checked_axis(op, axis, node_of(op, x), x.location));
}

}  // namespace

Tensor squeeze(Operand x, int axis) {
  const std::size_t at = axis_from_front("squeeze", x, axis);
  ShapeVector shape = shape_of(x);
  if (!shape[at].is(1))
    fail("squeeze",
         fmt::format("axis {} of {} is not of extent 1", at, type_text(*x.tensor.node())),
         x.location);
  shape.erase(shape.begin() + at);
  return reshape(x, shape);
}

Tensor unsqueeze(Operand x, int axis) {
  graph_of("unsqueeze", x);
  ShapeVector shape = shape_of(x);
  const int rank = static_cast<int>(shape.size());
  if (axis < -rank - 1 || axis > rank)
    fail("unsqueeze",
         fmt::format("axis {} is out of range for {}; it must be in [{}, {}]", axis,
                     type_text(*x.tensor.node()), -rank - 1, rank),
         x.location);
  shape.insert(shape.begin() + (axis < 0 ? axis + rank + 1 : axis), Extent(1));
  return reshape(x, shape);
}

Tensor transpose(Operand x, int a, int b) {
  const std::size_t first = axis_from_front("transpose", x, a);
  const std::size_t second = axis_from_front("transpose", x, b);
  AxesVector axes(x.tensor.node()->shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[first], axes[second]);
  return permute(x, axes);
}

Tensor select(Operand x, int axis, Extent index) {
  const LocationScope scope(x);
  const std::size_t at = axis_from_front("select", x, axis);
  const Extent from_front = checked_index("select", index, at, *x.tensor.node(), x.location);
  const Tensor one = slice(x, static_cast<int>(at), from_front, from_front + Extent(1));
  return squeeze(one, static_cast<int>(at));
}

std::vector<Tensor> split(Operand x, std::int64_t size, int axis) {
  const LocationScope scope(x);
  const std::size_t at = axis_from_front("split", x, axis);
  const Extent extent = x.tensor.node()->shape[at];
  if (size < 1 || !extent.is_number())
    fail("split",
         fmt::format("pieces of {} along axis {} of {}; the size must be at least 1 and the extent "
                     "a number",
                     size, at, type_text(*x.tensor.node())),
         x.location);
  std::vector<Tensor> pieces;
  for (std::int64_t begin = 0; begin < extent.number(); begin += size)
    pieces.push_back(
        slice(x, static_cast<int>(at), begin, std::min(begin + size, extent.number())));
  return pieces;
}

Tensor stack(std::span<const Operand> parts, int axis) {
  if (parts.empty()) throw UserError("stack: there are no operands; give at least one Tensor");
  const LocationScope scope(parts[0]);
  std::vector<Operand> widened;
  for (const Operand& part : parts)
    widened.emplace_back(unsqueeze(part, axis), part.location.file, part.location.line);
  const int rank = widened[0].tensor.rank();
  return concat(widened, axis < 0 ? axis + rank : axis);
}

Tensor stack(std::initializer_list<Operand> parts, int axis) {
  return stack(std::span<const Operand>(parts.begin(), parts.size()), axis);
}

Tensor stack(std::span<const Tensor> parts, int axis, const char* file, int line) {
  return stack(operands_of(parts, {file, line}), axis);
}

Tensor tile(Operand x, Axes repeats) {
  const LocationScope scope(x);
  graph_of("tile", x);
  ShapeVector shape = shape_of(x);
  if (repeats.size() < shape.size())
    fail("tile",
         fmt::format("{} repeats for {}; give one per axis", repeats.size(),
                     type_text(*x.tensor.node())),
         x.location);
  shape.insert(shape.begin(), repeats.size() - shape.size(), Extent(1));
  ShapeVector split_shape, filled, result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t times = repeats[axis];
    if (times < 0)
      fail("tile", fmt::format("axis {} is repeated {} times; use 0 or more", axis, times),
           x.location);
    if (times != 1) {
      split_shape.push_back(1);
      filled.push_back(times);
    }
    split_shape.push_back(shape[axis]);
    filled.push_back(shape[axis]);
    result.push_back(shape[axis] * Extent(times));
  }
  return reshape(broadcast_to(reshape(x, split_shape), filled), result);
}

Tensor repeat(Operand x, std::int64_t times, int axis) {
  const LocationScope scope(x);
  const std::size_t at = axis_from_front("repeat", x, axis);
  if (times < 0) fail("repeat", fmt::format("{} times; use 0 or more", times), x.location);
  if (x.tensor.shape()[at].is(1)) {
    ShapeVector wide = shape_of(x);
    wide[at] = times;
    return broadcast_to(x, wide);
  }
  ShapeVector split_shape = shape_of(x);
  split_shape.insert(split_shape.begin() + at + 1, Extent(1));
  ShapeVector filled = split_shape;
  filled[at + 1] = times;
  ShapeVector result = shape_of(x);
  result[at] = result[at] * Extent(times);
  return reshape(broadcast_to(reshape(x, split_shape), filled), result);
}

Tensor roll(Operand x, std::int64_t shift, int axis) {
  const LocationScope scope(x);
  const std::size_t at = axis_from_front("roll", x, axis);
  const Extent extent = x.tensor.node()->shape[at];
  if (extent.is(0)) return x.tensor;
  if (extent.is_number()) shift = (shift % extent.number() + extent.number()) % extent.number();
  if (shift == 0) return x.tensor;
  // The index of the element that moves to the front.
  const Extent cut = shift > 0 ? extent - Extent(shift) : Extent(-shift);
  const Tensor front = slice(x, static_cast<int>(at), cut, extent);
  const Tensor back = slice(x, static_cast<int>(at), 0, cut);
  return concat({front, back}, static_cast<int>(at));
}

}  // namespace sinter
