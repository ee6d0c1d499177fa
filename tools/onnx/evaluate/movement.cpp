// Operators that move elements of known values.
#include "ir/shape/host_array.h"
#include "tools/onnx/evaluate/evaluators.h"
#include "tools/onnx/node/slice_input.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

KnownOutputs one(KnownValue value) { return std::vector{std::move(value)}; }

/// A value of `shape` whose element at an index is `source(index)`, an element of `x`.
template <class Source>
KnownOutputs gathered(const KnownValue& x, std::vector<std::int64_t> shape, Source source) {
  const auto count = known_count(shape);
  if (!count) return std::nullopt;
  KnownValue result{.dtype = x.dtype, .shape = std::move(shape)};
  const std::vector<std::int64_t> strides = row_major(x.shape);
  for (std::int64_t i = 0; i < *count; ++i) {
    const std::vector<std::int64_t> index = source(unravel_index(result.shape, i));
    result.items.push_back(
        x.items[std::inner_product(index.begin(), index.end(), strides.begin(), std::size_t{0})]);
  }
  return one(std::move(result));
}

/// The numbers of a known vector; nullopt if one depends on symbols.
std::optional<std::vector<std::int64_t>> numbers_of(const KnownValue& value) {
  std::vector<std::int64_t> result;
  for (const Number& item : value.items) {
    if (!item.is_integer()) return std::nullopt;
    result.push_back(item.extent.number());
  }
  return result;
}

KnownOutputs evaluate_gather(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  const KnownValue& at = call.known(1, "indices");
  const auto axis =
      static_cast<std::size_t>(checked_axis(call.attributes().integer("axis", 0), x.rank()));
  const auto numbers = numbers_of(at);
  if (!numbers) return std::nullopt;
  std::vector<std::int64_t> shape(x.shape.begin(), x.shape.begin() + static_cast<int>(axis));
  shape.insert(shape.end(), at.shape.begin(), at.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<int>(axis) + 1, x.shape.end());
  const std::int64_t extent = x.shape[axis];
  for (const std::int64_t number : *numbers)
    if (number < -extent || number >= extent)
      refuse(
          fmt::format("index {} is out of range for axis {} of extent {}", number, axis, extent));
  const std::vector<std::int64_t> at_strides = row_major(at.shape);
  return gathered(x, shape, [&](const std::vector<std::int64_t>& index) {
    const auto begin = index.begin() + static_cast<int>(axis);
    const std::int64_t number =
        (*numbers)[std::inner_product(at_strides.begin(), at_strides.end(), begin, std::size_t{0})];
    std::vector<std::int64_t> result(index.begin(), begin);
    result.push_back(number < 0 ? number + extent : number);
    result.insert(result.end(), begin + at.rank(), index.end());
    return result;
  });
}

KnownOutputs evaluate_concat(const Call& call) {
  if (call.input_count() == 0) return std::nullopt;
  const KnownValue& first = call.known(0, "elements");
  const auto axis =
      static_cast<std::size_t>(checked_axis(call.attributes().integer("axis"), first.rank()));
  KnownValue result{.dtype = first.dtype, .shape = first.shape};
  std::vector<const KnownValue*> parts;
  result.shape[axis] = 0;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const KnownValue& part = call.known(i, "elements");
    std::vector<std::int64_t> others = part.shape;
    if (part.dtype != first.dtype || part.rank() != first.rank()) return std::nullopt;
    others[axis] = first.shape[axis];
    if (others != first.shape) return std::nullopt;  // recording reports the mistake
    result.shape[axis] += part.shape[axis];
    parts.push_back(&part);
  }
  if (!known_count(result.shape)) return std::nullopt;
  const std::span<const std::int64_t> outer = std::span(first.shape).first(axis);
  const std::int64_t rows = element_count(outer);
  for (std::int64_t row = 0; row < rows; ++row)  // rows is not 0 inside
    for (const KnownValue* part : parts) {
      const auto size = static_cast<std::ptrdiff_t>(part->items.size()) / rows;
      const auto begin = part->items.begin() + row * size;
      result.items.insert(result.items.end(), begin, begin + size);
    }
  return one(std::move(result));
}

KnownOutputs evaluate_slice(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  std::vector<std::int64_t> shape = x.shape;
  std::vector<std::int64_t> begins(x.shape.size(), 0);
  std::vector<std::int64_t> steps(x.shape.size(), 1);
  for (const SliceRange& range : slice_ranges(call, x.rank())) {
    const auto axis = static_cast<std::size_t>(range.axis);
    if (!range.begin.is_number() || !range.end.is_number()) return std::nullopt;
    const NumberRange numbers =
        clamped_range(range.begin.number(), range.end.number(), range.step, x.shape[axis]);
    shape[axis] = numbers.count;
    begins[axis] = numbers.begin;
    steps[axis] = range.step;
  }
  return gathered(x, shape, [&](std::vector<std::int64_t> index) {
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      index[axis] = begins[axis] + steps[axis] * index[axis];
    return index;
  });
}

/// Flat vectors are only reshaped if their number of elements stays the same.
KnownOutputs reshaped(const KnownValue& x, std::vector<std::int64_t> shape) {
  const auto count = known_count(shape);
  if (!count || *count != static_cast<std::int64_t>(x.items.size())) return std::nullopt;
  return one({.dtype = x.dtype, .shape = std::move(shape), .items = x.items});
}

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13.
std::optional<std::vector<std::int64_t>> axes_of(const Call& call) {
  if (call.has_input(1)) return call.integers(1, "axes");
  if (!call.attributes().has("axes")) return std::nullopt;
  return call.attributes().integers("axes");
}

KnownOutputs evaluate_squeeze(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  std::optional<std::vector<std::int64_t>> axes = axes_of(call);
  if (axes) axes = checked_axes(*axes, x.rank());
  std::vector<std::int64_t> shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
    const bool is_removed = axes ? std::ranges::count(*axes, axis) > 0 : extent == 1;
    if (!is_removed) shape.push_back(extent);
  }
  return reshaped(x, shape);
}

KnownOutputs evaluate_unsqueeze(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  const auto axes = axes_of(call);
  if (!axes) return std::nullopt;
  const int rank = x.rank() + static_cast<int>(axes->size());
  const std::vector<std::int64_t> added = checked_axes(*axes, rank);
  std::vector<std::int64_t> shape;
  auto next = x.shape.begin();
  for (int axis = 0; axis < rank; ++axis)
    shape.push_back(std::ranges::count(added, axis) > 0 ? 1 : *next++);
  return reshaped(x, shape);
}

KnownOutputs evaluate_reshape(const Call& call) {
  if (call.input_count() != 2) return std::nullopt;
  const KnownValue& x = call.known(0, "elements");
  const bool allows_zero = call.attributes().flag("allowzero", false);
  std::vector<std::int64_t> shape = call.integers(1, "shape");
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allows_zero && i < x.shape.size()) shape[i] = x.shape[i];
    if (shape[i] > 0) known *= std::min(shape[i], kMostKnown + 1);
    if (known > kMostKnown) return std::nullopt;
  }
  const auto inferred = std::ranges::find(shape, -1);
  if (inferred != shape.end()) *inferred = static_cast<std::int64_t>(x.items.size()) / known;
  return reshaped(x, shape);
}

KnownOutputs evaluate_transpose(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  std::vector<std::int64_t> order(x.shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = checked_axes(call.attributes().integers("perm", order), x.rank());
  if (order.size() != x.shape.size()) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const std::int64_t axis : order) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  return gathered(x, shape, [&](const std::vector<std::int64_t>& index) {
    std::vector<std::int64_t> result(index.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      result[static_cast<std::size_t>(order[i])] = index[i];
    return result;
  });
}

KnownOutputs evaluate_expand(const Call& call) {
  const KnownValue& x = call.known(0, "elements");
  const std::vector<Extent> extents = call.extents(1, "shape");
  KnownValue target{.shape = {}};
  for (const Extent extent : extents) {
    if (!extent.is_number() || extent.number() < 0) return std::nullopt;
    target.shape.push_back(extent.number());
  }
  const KnownValue* const both[] = {&x, &target};
  const auto shape = broadcast_shape(both);
  if (!shape) return std::nullopt;
  return one({.dtype = x.dtype, .shape = *shape, .items = broadcast_items(x, *shape)});
}

constexpr EvaluatorRow kMovement[] = {
    {"Concat", evaluate_concat},       {"Expand", evaluate_expand},
    {"Gather", evaluate_gather},       {"Reshape", evaluate_reshape},
    {"Slice", evaluate_slice},         {"Squeeze", evaluate_squeeze},
    {"Transpose", evaluate_transpose}, {"Unsqueeze", evaluate_unsqueeze},
};

}  // namespace

std::span<const EvaluatorRow> movement_evaluators() { return kMovement; }

}  // namespace sinter::onnx
