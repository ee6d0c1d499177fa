// Pooling over windows of the last axes, composed from pad, unfold and reductions.
#include "ir/autodiff/structural_vjp.h"
#include "ir/record/composite.h"
#include "ir/record/index_operands.h"
#include "ir/record/record.h"
#include "sinter/views.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

/// Throws UserError unless windows, strides and paddings are valid for the last axes of `x`.
void check_windows(std::string_view op, const Operand& x, Axes window, Axes stride, Axes padding) {
  const std::size_t count = window.size();
  const auto rank = static_cast<std::size_t>(x.tensor.rank());
  if (count == 0 || count > rank || stride.size() != count || padding.size() != count)
    fail(op,
         fmt::format(
             "{} windows, {} strides and {} paddings for {}; give one of each per pooled axis",
             count, stride.size(), padding.size(), type_text(*x.tensor.node())),
         x.location);
  for (std::size_t i = 0; i < count; ++i) {
    if (window[i] < 1 || stride[i] < 1)
      fail(op,
           fmt::format("window {} with stride {}; both must be at least 1", window[i], stride[i]),
           x.location);
    if (padding[i] < 0 || padding[i] > window[i] / 2)
      fail(op,
           fmt::format("padding {} for a window of {}; it must be from 0 to half the window",
                       padding[i], window[i]),
           x.location);
  }
}

/// The windows of x, padded with `filler`. Each pooled axis adds a new last axis over the elements
/// of a window.
Tensor windows(std::string_view op, const Operand& x, Axes window, Axes stride, Axes padding,
               double filler) {
  graph_of(op, x);
  check_windows(op, x, window, stride, padding);
  const std::size_t count = window.size();
  const auto rank = static_cast<std::size_t>(x.tensor.rank());
  AxesVector all_padding(rank - count, 0);
  all_padding.append(padding.begin(), padding.end());
  Tensor result = pad(x, all_padding, all_padding, filler);
  for (std::size_t i = 0; i < count; ++i)
    result = unfold(result, static_cast<int>(rank - count + i), window[i], stride[i]);
  return result;
}

/// Windows padded with -inf, so that the padding never exceeds an element. Throws UserError unless
/// `x` is floating.
Tensor windows_of_max(std::string_view op, const Operand& x, Axes window, Axes stride,
                      Axes padding) {
  graph_of(op, x);
  if (!is_floating(x.tensor.dtype()))
    fail(op, fmt::format("x is {}; it must be floating", type_text(*x.tensor.node())), x.location);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return windows(op, x, window, stride, padding, -kInfinity);
}

AxesVector last_axes(std::size_t count) {
  AxesVector axes;
  for (std::size_t i = count; i > 0; --i) axes.push_back(-static_cast<std::int64_t>(i));
  return axes;
}

}  // namespace

Tensor avg_pool(Operand x, Axes window, Axes stride, Axes padding) {
  const LocationScope scope(x);
  const Tensor elements = windows("avg_pool", x, window, stride, padding, 0);
  const AxesVector axes = last_axes(window.size());
  return mean(elements, axes);
}

Tensor max_pool(Operand x, Axes window, Axes stride, Axes padding) {
  const LocationScope scope(x);
  const Tensor elements = windows_of_max("max_pool", x, window, stride, padding);
  const AxesVector axes = last_axes(window.size());
  return max(elements, axes);
}

namespace {

/// `along` [extent] followed by `count` axes of extent 1.
Tensor with_trailing_axes(Tensor along, std::size_t count) {
  ShapeVector shape(count + 1, Extent(1));
  shape[0] = along.shape()[0];
  return reshape(along, shape);
}

/// The indices along a pooled axis at which its windows begin: i64 [count]. Indices in the padding
/// are negative.
Tensor window_begins(GraphData& graph, Extent count, std::int64_t stride, std::int64_t padding,
                     Location location) {
  const Tensor number = axis_indices(graph, count, location);
  const Tensor begin = stride == 1 ? number : number * stride;
  return padding == 0 ? begin : begin - padding;
}

/// position + along · step, where `along` is an index along a pooled axis with stride `step`. An
/// empty `position` counts as 0.
Tensor add_axis(Tensor position, Tensor along, Extent step, Location location) {
  if (!step.is(1)) along = along * record_size(*along.graph(), step, i64, location);
  return position.node() ? position + along : along;
}

}  // namespace

WithIndex max_pool_with_index(Operand x, Axes window, Axes stride, Axes padding) {
  const LocationScope scope(x);
  const Tensor elements = windows_of_max("max_pool_with_index", x, window, stride, padding);
  const std::size_t count = window.size();
  const std::span<const Extent> shape = elements.shape();
  ShapeVector merged(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count));
  merged.push_back(product(shape.last(count)));
  const Tensor in_a_row = reshape(elements, merged);
  const WithIndex largest = max_with_index(in_a_row, -1);

  // Splits the index within the window by axis and adds the begin of the window on each axis.
  GraphData& graph = *x.tensor.graph();
  const std::span<const Extent> extents = x.tensor.shape().last(count);
  const std::span<const Extent> counts = largest.index.shape().last(count);
  Tensor rest = largest.index;
  Tensor index;
  Extent step = 1;
  for (std::size_t i = count; i-- > 0;) {
    const Tensor within = i == 0 ? rest : fmod(rest, window[i]);
    if (i > 0) rest = floordiv(rest, window[i]);
    const Tensor begin = window_begins(graph, counts[i], stride[i], padding[i], x.location);
    Tensor along = with_trailing_axes(begin, count - 1 - i) + within;
    // In a window of only -inf the first element wins, which may be padding before index 0. The
    // first element of x in this window then has index 0.
    if (padding[i] > 0) along = maximum(along, 0);
    index = add_axis(index, along, step, x.location);
    step = step * extents[i];
  }
  return {.value = largest.value, .index = index};
}

namespace {

/// Throws UserError unless g and the index fit the results of max_pool_with_index for `shape`.
void check_pooled(const Operand& g, const Operand& index, Extents shape, Axes window, Axes stride,
                  Axes padding) {
  const char* const op = "max_pool_backward";
  for (const Operand* operand : {&g, &index})
    if (operand->is_literal())
      fail(op, "an operand is a number; record it with full", operand->location);
  const Node& given = *g.tensor.node();
  const Node& indices = *index.tensor.node();
  const bool is_real = is_floating(given.dtype) && given.dtype != c64;
  if (!is_real || !is_integer(indices.dtype) || !std::ranges::equal(given.shape, indices.shape))
    fail(op,
         fmt::format("g is {} and the index {}; they must be floating and integers of one shape",
                     type_text(given), type_text(indices)),
         g.location);
  check_windows(op, g, window, stride, padding);
  check_shape(op, shape, g.location);
  const std::size_t count = window.size();
  if (shape.size() != count)
    fail(op,
         fmt::format("the shape {} has {} extents for {} windows; give one extent per pooled "
                     "axis",
                     to_string(shape), shape.size(), count),
         g.location);
  const std::span<const Extent> counts = given.shape.last(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Extent padded = shape[i] + Extent(2 * padding[i]);
    const Extent expected = slice_length(0, padded - Extent(window[i] - 1), stride[i]);
    if (counts[i] != expected)
      fail(op,
           fmt::format("windows of {} with stride {} over {} elements with padding {} are {}, but "
                       "g is {}",
                       window[i], stride[i], to_string(shape[i]), padding[i], to_string(expected),
                       type_text(given)),
           g.location);
  }
}

}  // namespace

Tensor max_pool_backward(Operand g, Operand index, Extents shape, Axes window, Axes stride,
                         Axes padding) {
  const LocationScope scope(g);
  const Operand* const both[] = {&g, &index};
  GraphData& graph = graph_of("max_pool_backward", OperandRefs(both));
  check_pooled(g, index, shape, window, stride, padding);
  const std::size_t count = window.size();
  const std::size_t first = g.tensor.shape().size() - count;
  const std::span<const Extent> counts = g.tensor.shape().last(count);

  // This avoids a scatter, which would serialize its writes. Each element of each window compares
  // its position with the index. Each element of x sums the windows that contain it, in a fixed
  // order. Index maps and arithmetic suffice, so everything fuses with g.
  Tensor position;
  Extent step = 1;
  for (std::size_t i = count; i-- > 0;) {
    const Tensor begin = window_begins(graph, counts[i], stride[i], padding[i], g.location);
    const Tensor within = axis_indices(graph, window[i], g.location);
    const Tensor of_windows = with_trailing_axes(begin, 2 * count - 1 - i);
    const Tensor along = of_windows + with_trailing_axes(within, count - 1 - i);
    position = add_axis(position, along, step, g.location);
    step = step * shape[i];
  }
  ShapeVector with_ones(g.tensor.shape().begin(), g.tensor.shape().end());
  with_ones.append(count, Extent(1));
  const Tensor chosen = reshape(cast(index, i64), with_ones);
  const Tensor is_it = eq(chosen, position);
  const Tensor wide = cast(g, info(g.tensor.dtype()).compute);
  Tensor total = where(is_it, reshape(wide, with_ones), 0);
  for (std::size_t i = count; i-- > 0;)
    total = fold_windows(total, first + i, stride[i], shape[i] + Extent(2 * padding[i]));
  // A position in the padding may have the linear index of an element in another row. The slices
  // drop the values added there.
  for (std::size_t i = 0; i < count; ++i)
    if (padding[i] > 0)
      total = slice(total, static_cast<int>(first + i), padding[i], Extent(padding[i]) + shape[i]);
  return cast(total, g.tensor.dtype());
}

}  // namespace sinter
