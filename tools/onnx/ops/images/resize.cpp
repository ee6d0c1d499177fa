// Resize and Upsample: each axis is interpolated by itself.
//
// An element of the result is a weighted sum of a few elements along the axis. The indices and the
// weights are tables, which the importer computes in f64.
#include "ir/shape/host_array.h"
#include "sinter/views.h"
#include "tools/onnx/node/limits.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/images/resize_taps.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

std::vector<double> reals(const Call& call, std::size_t i, std::string_view what) {
  std::vector<double> result;
  for (const Number& item : call.known(i, what).items) {
    if (!item.is_fixed())
      refuse(fmt::format("the {} depend on the symbols in {}; give their sizes with --dim", what,
                         to_string(item.extent)));
    result.push_back(item.as_real());
  }
  return result;
}

/// True if the input is there and not empty.
bool is_given(const Call& call, std::size_t i) {
  if (!call.has_input(i)) return false;
  const KnownValue* const value = call.known(i);
  return !value || !value->items.empty();
}

std::vector<int> resized_axes(const Call& call, const Tensor& x) {
  std::vector<int> axes;
  for (const std::int64_t axis : checked_axes(call.attributes().integers("axes"), x.rank()))
    axes.push_back(static_cast<int>(axis));
  if (axes.empty())
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

/// One resized axis.
struct AxisResize {
  int axis = 0;
  double scale = 1;
  Extent size;
  double roi_begin = 0;  ///< of tf_crop_and_resize, in parts of the axis
  double roi_end = 1;
};

template <class Item>
void require_count(const std::vector<Item>& items, std::size_t count, std::string_view what) {
  if (items.size() != count)
    refuse(fmt::format("{} has {} numbers; this node needs {}", what, items.size(), count));
}

/// Sizes and scales are below this number.
constexpr double kMostSize = 0x1p40;

std::int64_t checked_size(double size) {
  if (!(size >= 0 && size < kMostSize))
    refuse(fmt::format("an axis gets {} elements; the number must be at least 0 and below 2^40",
                       size));
  return static_cast<std::int64_t>(size);
}

/// A fixed scale of a symbol gives floor(size * numerator / denominator) only for whole scales.
Extent scaled(Extent extent, double scale) {
  if (extent.is_number())
    return checked_size(std::floor(static_cast<double>(extent.number()) * scale));
  if (scale == std::floor(scale)) return extent * Extent(static_cast<std::int64_t>(scale));
  return number_of(extent);
}

std::vector<AxisResize> by_scales(const Tensor& x, const std::vector<int>& axes,
                                  const std::vector<double>& scales) {
  require_count(scales, axes.size(), "scales");
  std::vector<AxisResize> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0 && scales[i] < kMostSize))
      refuse(fmt::format("a scale is {}; scales must be above 0 and below 2^40", scales[i]));
    const Extent extent = x.shape()[static_cast<std::size_t>(axes[i])];
    result.push_back({.axis = axes[i], .scale = scales[i], .size = scaled(extent, scales[i])});
  }
  return result;
}

std::vector<AxisResize> by_sizes(const Call& call, const Tensor& x, const std::vector<int>& axes,
                                 const std::vector<Extent>& sizes) {
  require_count(sizes, axes.size(), "sizes");
  std::vector<AxisResize> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Extent extent = x.shape()[static_cast<std::size_t>(axes[i])];
    AxisResize axis{.axis = axes[i], .size = sizes[i]};
    if (sizes[i] != extent) {
      const std::int64_t size = checked_size(static_cast<double>(number_of(sizes[i])));
      if (extent.is(0)) refuse("an axis without elements cannot be resized");
      axis.scale = static_cast<double>(size) / static_cast<double>(number_of(extent));
    }
    result.push_back(axis);
  }
  const std::string policy = call.attributes().text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return result;
  if (policy != "not_larger" && policy != "not_smaller")
    refuse(
        fmt::format("keep_aspect_ratio_policy is {}; it must be stretch, not_larger or "
                    "not_smaller",
                    policy));
  const auto [least, most] = std::ranges::minmax(result, {}, &AxisResize::scale);
  const double scale = policy == "not_larger" ? least.scale : most.scale;
  for (AxisResize& axis : result) {
    const std::int64_t extent = number_of(x.shape()[static_cast<std::size_t>(axis.axis)]);
    axis.scale = scale;
    axis.size = checked_size(std::floor(static_cast<double>(extent) * scale + 0.5));
  }
  return result;
}

/// Each element `times` times in succession, which is nearest-neighbour upsampling by a whole scale
/// for the usual coordinates and roundings. It works for symbols, too.
bool repeats(const AxisResize& axis, const TapOptions& options) {
  if (options.mode != "nearest" || axis.scale != std::floor(axis.scale)) return false;
  const bool is_asymmetric = options.coordinates == "asymmetric" && options.nearest == "floor";
  const bool is_centred =
      options.coordinates == "half_pixel" && options.nearest.starts_with("round_prefer");
  return is_asymmetric || is_centred;
}

/// A vector if there is one tap per output.
HostArray index_table(const Taps& taps) {
  std::vector<std::int64_t> shape = {taps.outputs};
  if (taps.count != 1) shape.push_back(taps.count);
  HostArray table(i32, shape);
  for (std::int64_t i = 0; i < table.size(); ++i)
    table.set_integer_at(i, taps.indices[static_cast<std::size_t>(i)]);
  return table;
}

HostArray weight_table(const Taps& taps, DType dtype) {
  HostArray table(dtype, {taps.outputs, taps.count});
  for (std::int64_t i = 0; i < table.size(); ++i)
    table.set_real_at(i, taps.weights[static_cast<std::size_t>(i)]);
  return table;
}

/// The number that replaces elements outside of x. For integers it is rounded towards 0.
Operand extrapolation_of(const TapOptions& options, DType dtype) {
  if (is_floating(dtype)) return options.extrapolation;
  constexpr double kMost = 0x1p31;
  if (!(std::abs(options.extrapolation) < kMost))
    refuse(fmt::format("extrapolation_value is {}, which {} does not have", options.extrapolation,
                       name(dtype)));
  return {number_of_dtype(static_cast<std::int64_t>(options.extrapolation), dtype), Location{}};
}

/// The weighted sums of the taps. A nearest neighbour is the only one, with the weight 1.
Tensor sums_of(const Call& call, const Tensor& x, int axis, const Taps& taps,
               const std::string& stem) {
  const Tensor indices = call.constant(stem + "_indices", index_table(taps));
  const Tensor elements = take(x, indices, axis);
  if (taps.count == 1) return elements;
  const Tensor weights = call.constant(stem + "_weights", weight_table(taps, x.dtype()));
  const auto behind = static_cast<std::size_t>(x.rank() - 1 - axis);
  return sum(elements * with_trailing_axes(weights, behind), {axis + 1});
}

Tensor resized(const Call& call, const Tensor& x, const AxisResize& resize,
               const TapOptions& options) {
  const auto at = static_cast<std::size_t>(resize.axis);
  if (repeats(resize, options))
    return repeat(x, static_cast<std::int64_t>(resize.scale), resize.axis);
  TapAxis axis{.inputs = number_of(x.shape()[at]),
               .outputs = number_of(resize.size),
               .scale = resize.scale,
               .roi_begin = resize.roi_begin,
               .roi_end = resize.roi_end};
  const Taps taps = taps_of(axis, options);
  const std::string stem = call.table_name(fmt::format("axis{}", resize.axis));
  const Tensor result = sums_of(call, x, resize.axis, taps, stem);
  if (std::ranges::count(taps.is_outside, true) == 0) return result;
  HostArray outside(boolean, {taps.outputs});
  for (std::int64_t i = 0; i < taps.outputs; ++i)
    outside.set_integer_at(i, taps.is_outside[static_cast<std::size_t>(i)]);
  const auto behind = static_cast<std::size_t>(x.rank() - 1 - resize.axis);
  const Tensor mask =
      with_trailing_axes(call.constant(stem + "_outside", std::move(outside)), behind);
  return where(mask, extrapolation_of(options, x.dtype()), result);
}

/// An axis that keeps its elements.
bool is_identity(const Tensor& x, const AxisResize& axis) {
  return axis.size == x.shape()[static_cast<std::size_t>(axis.axis)] && axis.scale == 1 &&
         axis.roi_begin == 0 && axis.roi_end == 1;
}

/// Interpolates in f32, or in f64 for f64. Nearest neighbours need no arithmetic.
Tensor resize_axes(const Call& call, const Tensor& x, const std::vector<AxisResize>& axes,
                   const TapOptions& options) {
  const DType compute = options.mode == "nearest" ? x.dtype() : x.dtype() == f64 ? f64 : f32;
  Tensor result = cast(x, compute);
  for (const AxisResize& axis : axes)
    if (!is_identity(x, axis)) result = resized(call, result, axis, options);
  // Integers round towards zero, and narrow ones saturate.
  return cast(result, x.dtype());
}

void add_roi(const Call& call, std::vector<AxisResize>& axes) {
  const std::vector<double> roi = reals(call, 1, "roi");
  require_count(roi, 2 * axes.size(), "roi");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].roi_begin = roi[i];
    axes[i].roi_end = roi[axes.size() + i];
  }
}

TapOptions tap_options_of(const Call& call) {
  const Attributes& attributes = call.attributes();
  const std::string mode = attributes.text("mode", "nearest");
  // A nearest neighbour outside is the element at the end of the axis.
  const bool excludes_outside = attributes.flag("exclude_outside", false) && mode != "nearest";
  return {.mode = mode,
          .coordinates = attributes.text("coordinate_transformation_mode", "half_pixel"),
          .nearest = attributes.text("nearest_mode", "round_prefer_floor"),
          .cubic = attributes.real("cubic_coeff_a", -0.75),
          .antialias = attributes.flag("antialias", false),
          .excludes_outside = excludes_outside,
          .extrapolation = attributes.real("extrapolation_value", 0)};
}

/// Upsample, and Resize of opset 10: `scales` is the second input or an attribute.
Outputs record_upsample(const Call& call) {
  require_inputs(call, 1, 2);
  const Tensor x = call.tensor(0);
  const std::vector<double> scales =
      call.has_input(1) ? reals(call, 1, "scales") : call.attributes().reals("scales");
  const TapOptions options{.mode = call.attributes().text("mode", "nearest"),
                           .coordinates = "asymmetric",
                           .nearest = "floor"};
  return {resize_axes(call, x, by_scales(x, resized_axes(call, x), scales), options)};
}

Outputs record_resize(const Call& call) {
  if (call.opset() < 11) return record_upsample(call);
  require_inputs(call, 1, 4);
  const Tensor x = call.tensor(0);
  const std::vector<int> axes = resized_axes(call, x);
  std::vector<AxisResize> resizes;
  call.attributes().ignore("keep_aspect_ratio_policy");  // of sizes
  if (is_given(call, 3))
    resizes = by_sizes(call, x, axes, call.extents(3, "sizes"));
  else if (is_given(call, 2))
    resizes = by_scales(x, axes, reals(call, 2, "scales"));
  else
    refuse("it has neither scales nor sizes");
  const TapOptions options = tap_options_of(call);
  if (options.coordinates == "tf_crop_and_resize") add_roi(call, resizes);
  return {resize_axes(call, x, resizes, options)};
}

constexpr OpRow kResizing[] = {
    {"Resize", record_resize},
    {"Upsample", record_upsample},
};

}  // namespace

std::span<const OpRow> resize_ops() { return kResizing; }

}  // namespace sinter::onnx
