// Pad and CenterCropPad.
#include "ir/shape/extent.h"
#include "sinter/views.h"
#include "tools/onnx/node/limits.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// Elements to add before and after each axis; negative numbers remove elements.
struct Paddings {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
};

/// The padding of an operator: an attribute before opset 11, then an input.
Paddings paddings_of(const Call& call, int rank) {
  const std::vector<std::int64_t> numbers =
      call.opset() < 11 ? call.attributes().integers("pads") : call.integers(1, "pads");
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.opset() >= 18 && call.has_input(3)) axes = checked_axes(call.integers(3, "axes"), rank);
  if (numbers.size() != 2 * axes.size())
    refuse(fmt::format("it has {} pads for {} axes; it must have two per axis", numbers.size(),
                       axes.size()));
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const std::int64_t number : numbers)
    if (number > kMost || number < -kMost)
      refuse(fmt::format("a pad is {}, which is too large", number));
  Paddings result{.low = std::vector<std::int64_t>(static_cast<std::size_t>(rank), 0),
                  .high = std::vector<std::int64_t>(static_cast<std::size_t>(rank), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.low[static_cast<std::size_t>(axes[i])] = numbers[i];
    result.high[static_cast<std::size_t>(axes[i])] = numbers[axes.size() + i];
  }
  return result;
}

/// The value of mode constant: a number if it is known, else a Tensor of rank 0.
Operand filler_of(const Call& call, const Tensor& x) {
  if (call.opset() < 11) return call.attributes().real("value", 0);
  if (!call.has_input(2)) return {number_of_dtype(0, x.dtype()), Location{}};
  if (call.dtype(2) != x.dtype())
    refuse(
        fmt::format("its value is {}, but its input is {}", name(call.dtype(2)), name(x.dtype())));
  if (call.known(2) && call.known(2)->items.size() == 1) return call.operand(2, x.rank());
  return reshape(call.tensor(2), {});
}

Tensor padded_with(const Call& call, const Tensor& x, const Paddings& paddings) {
  const Operand filler = filler_of(call, x);
  Tensor result = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const auto filled = [&](std::int64_t count) {
      std::vector<Extent> shape(result.shape().begin(), result.shape().end());
      shape[at] = count;
      if (filler.is_literal()) return full(call.graph(), shape, filler.literal, x.dtype());
      return broadcast_to(filler, shape);
    };
    const std::int64_t low = paddings.low[at];
    const std::int64_t high = paddings.high[at];
    const Extent end = result.shape()[at] - std::max<std::int64_t>(-high, 0);
    if (low < 0 || high < 0) result = slice(result, axis, std::max<std::int64_t>(-low, 0), end);
    std::vector<Tensor> pieces;
    if (low > 0) pieces.push_back(filled(low));
    pieces.push_back(result);
    if (high > 0) pieces.push_back(filled(high));
    result = concat(pieces, axis);
  }
  return result;
}

/// The index of x that mirrored position `i` reads: 0 … n − 1 … 0 …, without repeated ends.
Tensor mirrored(const Call& call, const Tensor& position, Extent extent) {
  const Tensor last = call.size_value(extent - 1);
  const Tensor period = maximum(last * 2, 1);
  return last - abs(remainder(position, period) - last);
}

/// x with elements read at `low` positions before the first to `high` after the last. `source` maps
/// a position, counted from the first element, to the index of an element.
template <class Source>
Tensor padded_from(const Call& call, const Tensor& x, const Paddings& paddings, Source source) {
  Tensor result = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t low = paddings.low[at];
    const std::int64_t high = paddings.high[at];
    if (low == 0 && high == 0) continue;
    const Extent extent = x.shape()[at];
    const Tensor position = iota(call.graph(), extent + low + high, -low);
    result = take(result, source(position, extent), axis);
  }
  return result;
}

Outputs record_pad(const Call& call) {
  require_inputs(call, 1, 4);
  const Tensor x = call.tensor(0);
  const Paddings paddings = paddings_of(call, x.rank());
  const std::string mode = call.attributes().text("mode", "constant");
  if (mode == "constant") return {padded_with(call, x, paddings)};
  call.attributes().ignore("value");
  if (mode == "edge")
    return {padded_from(call, x, paddings, [&](const Tensor& position, Extent extent) {
      return minimum(maximum(position, 0), call.size_value(extent - 1));
    })};
  if (mode == "reflect")
    return {padded_from(call, x, paddings, [&](const Tensor& position, Extent extent) {
      return mirrored(call, position, extent);
    })};
  if (mode == "wrap")
    return {padded_from(call, x, paddings, [&](const Tensor& position, Extent extent) {
      return remainder(position, call.size_value(extent));
    })};
  refuse(fmt::format("mode is '{}'; it must be constant, edge, reflect or wrap", mode));
}

/// Cuts or pads with zeros at both ends, so that the middle stays in the middle.
Outputs record_center_crop_pad(const Call& call) {
  require_inputs(call, 2, 2);
  Tensor x = call.tensor(0);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  axes = checked_axes(call.attributes().integers("axes", axes), x.rank());
  const std::vector<std::int64_t> sizes = call.integers(1, "shape");
  if (sizes.size() != axes.size())
    refuse(fmt::format("it has {} sizes for {} axes", sizes.size(), axes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<int>(axes[i]);
    const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
    if (!extent.is_number() || sizes[i] < 0)
      refuse(fmt::format("axis {} has the extent {}, and shall have {}; both must be numbers", axis,
                         to_string(extent), sizes[i]));
    const std::int64_t difference = sizes[i] - extent.number();
    if (difference <= 0) {
      const std::int64_t begin = -difference / 2;
      x = slice(x, axis, begin, begin + sizes[i]);
      continue;
    }
    std::vector<std::int64_t> low(static_cast<std::size_t>(x.rank()), 0);
    std::vector<std::int64_t> high = low;
    low[static_cast<std::size_t>(axis)] = difference / 2;
    high[static_cast<std::size_t>(axis)] = difference - difference / 2;
    x = pad(x, low, high);
  }
  return {x};
}

constexpr OpRow kPadding[] = {
    {"CenterCropPad", record_center_crop_pad},
    {"Pad", record_pad},
};

}  // namespace

std::span<const OpRow> padding_ops() { return kPadding; }

}  // namespace sinter::onnx
