// Padding, slice_scatter and select_scatter, composed from concatenations.
#include "ir/record/composite.h"
#include "ir/record/record.h"
#include "sinter/views.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace sinter {

namespace {

/// Returns the `count` elements to put before x along `axis`, or after x if not `before`.
using Filler = std::function<Tensor(Tensor x, int axis, std::int64_t count, bool before)>;

/// `x` padded by low[axis] elements before and high[axis] after; negative numbers remove elements.
Tensor padded(std::string_view op, const Operand& x, Axes low, Axes high, const Filler& filler) {
  const LocationScope scope(x);
  graph_of(op, x);
  const auto rank = static_cast<std::size_t>(x.tensor.rank());
  if (low.size() != rank || high.size() != rank)
    fail(op,
         fmt::format("{} and {} numbers for {}; give one per axis", low.size(), high.size(),
                     type_text(*x.tensor.node())),
         x.location);
  Tensor result = x.tensor;
  for (std::size_t at = 0; at < rank; ++at) {
    const int axis = static_cast<int>(at);
    const std::int64_t before = low[at];
    const std::int64_t after = high[at];
    if (before < 0 || after < 0) {
      const Extent extent = result.shape()[at];
      result = slice(result, axis, std::max<std::int64_t>(-before, 0),
                     extent - Extent(std::max<std::int64_t>(-after, 0)));
    }
    const Tensor middle = result;
    std::vector<Operand> pieces;
    if (before > 0) pieces.emplace_back(filler(middle, axis, before, true));
    pieces.emplace_back(middle);
    if (after > 0) pieces.emplace_back(filler(middle, axis, after, false));
    result = concat(pieces, axis);
  }
  return result;
}

}  // namespace

Tensor pad(Operand x, Axes low, Axes high, double value) {
  return padded("pad", x, low, high, [&](Tensor middle, int axis, std::int64_t count, bool) {
    ShapeVector shape(middle.shape().begin(), middle.shape().end());
    shape[static_cast<std::size_t>(axis)] = count;
    const Tensor filler = as_tensor("pad", *middle.graph(), number_at(value, x), middle.dtype());
    return broadcast_to(with_location(filler, x), shape);
  });
}

Tensor pad_edge(Operand x, Axes low, Axes high) {
  return padded("pad_edge", x, low, high,
                [](Tensor middle, int axis, std::int64_t count, bool before) {
                  const Extent extent = middle.shape()[static_cast<std::size_t>(axis)];
                  const Extent at = before ? Extent(0) : extent - Extent(1);
                  const Tensor edge = slice(middle, axis, at, at + Extent(1));
                  return repeat(edge, count, axis);
                });
}

Tensor pad_reflect(Operand x, Axes low, Axes high) {
  return padded("pad_reflect", x, low, high,
                [&](Tensor middle, int axis, std::int64_t count, bool before) {
                  const Extent extent = middle.shape()[static_cast<std::size_t>(axis)];
                  if (!provably_less(Extent(count), extent))
                    fail("pad_reflect",
                         fmt::format("padding {} is not below the extent {} of axis {}; use less",
                                     count, to_string(extent), axis),
                         x.location);
                  const Extent begin = before ? Extent(1) : extent - Extent(count + 1);
                  const Tensor piece = slice(middle, axis, begin, begin + Extent(count));
                  return flip(piece, {axis});
                });
}

namespace {

/// The concatenation of `parts` along `axis`, without the empty parts.
Tensor concat_nonempty(std::initializer_list<Tensor> parts, int axis) {
  std::vector<Operand> pieces;
  for (const Tensor part : parts)
    if (!part.shape()[static_cast<std::size_t>(axis)].is(0)) pieces.emplace_back(part);
  return pieces.empty() ? *parts.begin() : concat(pieces, axis);
}

/// `x`, of extent `count` · `step` along `axis`, with every `step`-th element replaced by the next
/// element of `source`.
Tensor interleaved(Tensor x, Tensor source, int axis, Extent count, int step) {
  const auto at = static_cast<std::size_t>(axis);
  ShapeVector split_shape(x.shape().begin(), x.shape().end());
  split_shape[at] = count;
  split_shape.insert(split_shape.begin() + at + 1, Extent(step));
  const Tensor split = reshape(x, split_shape);
  const Tensor rest = slice(split, axis + 1, 1, step);
  const Tensor mixed = concat({unsqueeze(source, axis + 1), rest}, axis + 1);
  return reshape(mixed, x.shape());
}

}  // namespace

Tensor slice_scatter(Operand x, Operand source, int axis, Extent begin, Extent end, int step) {
  const LocationScope scope(x);
  const Node& node = node_of("slice_scatter", x);
  const auto at = static_cast<std::size_t>(checked_axis("slice_scatter", axis, node, x.location));
  const int along = static_cast<int>(at);
  if (step < 1)
    fail("slice_scatter",
         fmt::format(
             "step {} must be at least 1; flip the source along axis {} to write it backwards",
             step, at),
         x.location);
  const Extent extent = node.shape[at];
  const auto [first, last] = slice_bounds(extent, begin, end);
  const Extent count = slice_length(first, last, step);
  ShapeVector shape(node.shape.begin(), node.shape.end());
  shape[at] = count;
  const Tensor typed = as_tensor("slice_scatter", *x.tensor.graph(), source, node.dtype);
  const Tensor part = broadcast_to(with_location(typed, x), shape);
  if (count.is(0)) return x.tensor;
  const Tensor head = slice(x, along, 0, first);
  if (step == 1) {
    const Tensor tail = slice(x, along, first + count, extent);
    return concat_nonempty({head, part, tail}, along);
  }
  // Fewer than `step` elements of x may follow the last element, so it is appended separately.
  const Extent whole = count - Extent(1);
  const Extent body_end = first + whole * Extent(step);
  const Tensor body = slice(x, along, first, body_end);
  const Tensor mixed =
      whole.is(0) ? body : interleaved(body, slice(part, along, 0, whole), along, whole, step);
  const Tensor last_one = slice(part, along, whole, count);
  const Tensor tail = slice(x, along, body_end + Extent(1), extent);
  return concat_nonempty({head, mixed, last_one, tail}, along);
}

Tensor select_scatter(Operand x, Operand source, int axis, Extent index) {
  const LocationScope scope(x);
  const Node& node = node_of("select_scatter", x);
  const auto at = static_cast<std::size_t>(checked_axis("select_scatter", axis, node, x.location));
  const Extent from_front = checked_index("select_scatter", index, at, node, x.location);
  const Operand part =
      source.is_literal() ? source : Operand(unsqueeze(source, static_cast<int>(at)));
  return slice_scatter(x, part, static_cast<int>(at), from_front, from_front + Extent(1));
}

}  // namespace sinter
