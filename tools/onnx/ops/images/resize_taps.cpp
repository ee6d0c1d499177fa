#include "tools/onnx/ops/images/resize_taps.h"

#include "tools/onnx/node/call.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The position in the input of output `o`.
double position_of(std::int64_t o, const TapAxis& axis, const std::string& coordinates) {
  const auto at = static_cast<double>(o);
  const auto inputs = static_cast<double>(axis.inputs);
  const double outputs = axis.scale * inputs;  // before rounding
  if (coordinates == "half_pixel") return (at + 0.5) / axis.scale - 0.5;
  if (coordinates == "pytorch_half_pixel")
    return outputs == 1 ? -0.5 : (at + 0.5) / axis.scale - 0.5;
  if (coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.outputs) / outputs;
    return inputs / 2 * (1 - adjustment) + (at + 0.5) / axis.scale - 0.5;
  }
  if (coordinates == "align_corners") return outputs == 1 ? 0 : at * (inputs - 1) / (outputs - 1);
  if (coordinates == "asymmetric") return at / axis.scale;
  if (coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;  // before opset 13
  if (coordinates == "tf_crop_and_resize") {
    const double extent = (axis.roi_end - axis.roi_begin) * (inputs - 1);
    return axis.roi_begin * (inputs - 1) +
           (outputs == 1 ? extent / 2 : at * extent / (outputs - 1));
  }
  refuse(fmt::format("coordinate_transformation_mode {} is unknown", coordinates));
}

/// 1 for the chosen one of the neighbours left and right of a position, which is `ratio` behind the
/// left one, 0 < ratio <= 1.
std::vector<double> nearest_weights(double ratio, const std::string& nearest) {
  if (ratio == 1) return {0, 1};
  bool is_left = false;
  if (nearest == "round_prefer_floor")
    is_left = ratio <= 0.5;
  else if (nearest == "round_prefer_ceil")
    is_left = ratio < 0.5;
  else if (nearest == "floor")
    is_left = true;
  else if (nearest != "ceil")
    refuse(fmt::format("nearest_mode {} is unknown", nearest));
  return is_left ? std::vector<double>{1, 0} : std::vector<double>{0, 1};
}

/// Keys's cubic convolution (1981) at `distance`, with the coefficient `a`.
double cubic_kernel(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double linear_kernel(double distance) { return std::max(1 - std::abs(distance), 0.0); }

/// The weights of neighbouring elements, in order.
std::vector<double> weights_at(double ratio, double scale, const TapOptions& options) {
  if (options.mode == "nearest") {
    if (options.antialias) refuse("antialias is not defined for mode nearest");
    return nearest_weights(ratio, options.nearest);
  }
  const bool is_cubic = options.mode == "cubic";
  if (!is_cubic && options.mode != "linear")
    refuse(fmt::format("mode is {}; it must be nearest, linear or cubic", options.mode));
  const int reach = is_cubic ? 2 : 1;
  // A smaller scale widens the kernel if antialias is set.
  const double width = options.antialias ? std::min(scale, 1.0) : 1.0;
  const int first = static_cast<int>(std::floor(-reach / width)) + 1;
  std::vector<double> weights;
  for (int i = first; i < 2 - first; ++i) {
    const double distance = width * (i - ratio);
    weights.push_back(is_cubic ? cubic_kernel(distance, options.cubic) : linear_kernel(distance));
  }
  if (options.antialias) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= total;
  }
  return weights;
}

/// Sets the weights of elements outside the axis to 0, and lets the others sum to 1.
void exclude_outside(std::vector<double>& weights, std::int64_t first, std::int64_t inputs) {
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int64_t index = first + static_cast<std::int64_t>(i);
    if (index < 0 || index >= inputs) weights[i] = 0;
    total += weights[i];
  }
  if (total == 0) return;
  for (double& weight : weights) weight /= total;
}

/// The index of the first of `count` elements around `position`. The element at a whole position
/// counts as right of it.
std::int64_t first_tap(double position, std::int64_t count) {
  const double floor = std::floor(position);
  const auto left = static_cast<std::int64_t>(floor);
  if (count % 2 != 0)  // the window is centred at the nearest element
    return left + (position - floor <= 0.5 ? 0 : 1) - (count - 1) / 2;
  return left - count / 2 + (position == floor ? 0 : 1);
}

/// Throws UserError if the tables would be too large.
void check_table_size(const TapAxis& axis, const TapOptions& options) {
  constexpr double kMostTaps = 1 << 22;
  const double reach = options.mode == "cubic" ? 2 : 1;
  const double width = options.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double taps = static_cast<double>(axis.outputs) * 2 * reach / width;
  if (!(taps <= kMostTaps))
    refuse(
        fmt::format("an axis with {} elements after resizing, at a scale of {}, needs more than "
                    "2^22 weights",
                    axis.outputs, axis.scale));
}

/// Nearest neighbours have one tap with a weight: makes the table that narrow.
void keep_chosen_tap(Taps& taps) {
  std::vector<std::int64_t> indices;
  for (std::int64_t o = 0; o < taps.outputs; ++o)
    for (std::int64_t i = 0; i < taps.count; ++i)
      if (const auto at = static_cast<std::size_t>(o * taps.count + i); taps.weights[at] != 0) {
        indices.push_back(taps.indices[at]);
        break;
      }
  taps.count = 1;
  taps.weights.assign(indices.size(), 1.0);
  taps.indices = std::move(indices);
}

}  // namespace

Taps taps_of(const TapAxis& axis, const TapOptions& options) {
  if (axis.inputs < 1) refuse("an axis without elements cannot be resized");
  check_table_size(axis, options);
  Taps taps{.outputs = axis.outputs};
  for (std::int64_t o = 0; o < axis.outputs; ++o) {
    const double position = position_of(o, axis, options.coordinates);
    if (!(std::abs(position) < 0x1p40))
      refuse(fmt::format("output {} of an axis is at position {} of the input, which is too far", o,
                         position));
    const double floor = std::floor(position);
    const double ratio = position == floor ? 1 : position - floor;
    std::vector<double> weights = weights_at(ratio, axis.scale, options);
    taps.count = static_cast<std::int64_t>(weights.size());
    const std::int64_t first = first_tap(position, taps.count);
    if (options.excludes_outside) exclude_outside(weights, first, axis.inputs);
    for (std::int64_t i = 0; i < taps.count; ++i)
      taps.indices.push_back(std::clamp<std::int64_t>(first + i, 0, axis.inputs - 1));
    taps.weights.insert(taps.weights.end(), weights.begin(), weights.end());
    taps.is_outside.push_back(options.coordinates == "tf_crop_and_resize" &&
                              (position < 0 || position > static_cast<double>(axis.inputs - 1)));
  }
  if (options.mode == "nearest") keep_chosen_tap(taps);
  return taps;
}

}  // namespace sinter::onnx
