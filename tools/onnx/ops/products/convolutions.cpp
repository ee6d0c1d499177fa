// Convolutions.
#include "sinter/library_ops.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/node/spatial_windows.h"
#include "tools/onnx/ops/op_table.h"
#include "tools/onnx/ops/products/quantized.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The extents of the filters after the first two axes.
std::vector<std::int64_t> filter_extents(const Tensor& w) {
  std::vector<std::int64_t> kernel;
  for (const Extent extent : w.shape().subspan(2)) {
    if (!extent.is_number())
      refuse(fmt::format("a filter has the extent {}; it must be a number", to_string(extent)));
    kernel.push_back(extent.number());
  }
  return kernel;
}

void check_ranks(const Tensor& x, const Tensor& w) {
  if (x.rank() < 3 || x.rank() != w.rank())
    refuse(
        fmt::format("its input and filters have the ranks {} and {}; they must be equal, and at "
                    "least 3",
                    x.rank(), w.rank()));
}

/// The windows of a convolution; kernel_shape must agree with the filters.
SpatialWindows windows_of_filters(const Call& call, const Tensor& x, const Tensor& w) {
  check_ranks(x, w);
  const std::vector<std::int64_t> kernel = filter_extents(w);
  if (call.attributes().integers("kernel_shape", kernel) != kernel)
    refuse("its kernel_shape is not the shape of its filters");
  return spatial_windows(call, x.shape().subspan(2), kernel);
}

ConvOptions conv_options(const Call& call, const SpatialWindows& windows) {
  return {.strides = windows.strides,
          .dilations = windows.dilations,
          .padding_begin = windows.begin,
          .padding_end = windows.end,
          .groups = call.attributes().integer("group", 1)};
}

Tensor with_bias(const Tensor& y, const Tensor& bias) {
  return bias.node() ? y + aligned_to_axis(bias, 1, y.rank()) : y;
}

Outputs record_conv(const Call& call) {
  require_inputs(call, 2, 3);
  require_one_dtype(call);
  const Tensor x = call.tensor(0);
  const Tensor w = call.tensor(1);
  const SpatialWindows windows = windows_of_filters(call, x, w);
  return {with_bias(conv(x, w, conv_options(call, windows)), call.optional_tensor(2))};
}

/// Sets the padding for the wanted extents of the result: output_shape, or with automatic padding
/// extent · stride. Negative padding becomes additional output padding.
void pad_to_output(const Call& call, const Tensor& x, SpatialWindows& windows,
                   std::vector<std::int64_t>& extra) {
  const std::string automatic = call.attributes().text("auto_pad", "NOTSET");
  const bool is_same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  const bool has_shape = call.attributes().has("output_shape");
  if (!has_shape && !is_same) return;
  for (std::size_t axis = 0; axis < windows.axes(); ++axis) {
    const Extent extent = x.shape()[axis + 2];
    const std::int64_t stride = windows.strides[axis];
    std::int64_t total = windows.span(axis) - stride + extra[axis];
    if (has_shape) {
      const auto wanted = spatial_list(call, "output_shape", windows.axes(), 0, 0);
      if (!extent.is_number())
        refuse(fmt::format("output_shape needs the extent of spatial axis {}, which is {}", axis,
                           to_string(extent)));
      total = stride * (extent.number() - 1) + extra[axis] + windows.span(axis) - wanted[axis];
    }
    if (total < 0) {
      extra[axis] -= total;
      total = 0;
    }
    windows.begin[axis] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    windows.end[axis] = total - windows.begin[axis];
  }
}

Outputs record_conv_transpose(const Call& call) {
  require_inputs(call, 2, 3);
  require_one_dtype(call);
  const Tensor x = call.tensor(0);
  const Tensor w = call.tensor(1);
  check_ranks(x, w);
  const std::vector<std::int64_t> kernel = filter_extents(w);
  if (call.attributes().integers("kernel_shape", kernel) != kernel)
    refuse("its kernel_shape is not the shape of its filters");
  SpatialWindows windows{.kernel = kernel,
                         .strides = spatial_list(call, "strides", kernel.size(), 1, 1),
                         .dilations = spatial_list(call, "dilations", kernel.size(), 1, 1)};
  const std::vector<std::int64_t> pads = spatial_list(call, "pads", 2 * kernel.size(), 0, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(kernel.size());
  windows.begin.assign(pads.begin(), middle);
  windows.end.assign(middle, pads.end());
  std::vector<std::int64_t> extra = spatial_list(call, "output_padding", kernel.size(), 0, 0);
  pad_to_output(call, x, windows, extra);
  ConvTransposeOptions options;
  static_cast<ConvOptions&>(options) = conv_options(call, windows);
  options.output_padding = extra;
  return {with_bias(conv_transpose(x, w, options), call.optional_tensor(2))};
}

/// The zero points are empty, one number, or one number per filter.
Tensor integer_convolution(const Call& call, const Tensor& x, const Tensor& zero_x, const Tensor& w,
                           const Tensor& zero_w) {
  IntegerConvOptions options;
  static_cast<ConvOptions&>(options) = conv_options(call, windows_of_filters(call, x, w));
  options.zero_x = zero_x;
  options.zero_w = zero_w;
  return integer_conv(x, w, options);
}

Outputs record_conv_integer(const Call& call) {
  require_inputs(call, 2, 4);
  return {integer_convolution(call, call.tensor(0), call.optional_tensor(2), call.tensor(1),
                              call.optional_tensor(3))};
}

/// The inputs are x, its scale and zero point, then the same of the filters. Scale and zero point
/// of the result follow, and a bias in i32, whose scale is the product of both.
Outputs record_q_linear_conv(const Call& call) {
  require_inputs(call, 8, 9);
  const Tensor x = call.tensor(0);
  const auto number = [&](std::size_t i) { return reshape(cast(call.tensor(i), f32), Extents()); };
  Tensor sums = integer_convolution(call, x, call.tensor(2), call.tensor(3), call.tensor(5));
  sums = with_bias(sums, call.optional_tensor(8));
  const Tensor filter_scale = cast(call.tensor(4), f32);
  const bool is_one = filter_scale.rank() == 0 || filter_scale.shape()[0].is(1);
  const Tensor scale =
      is_one ? reshape(filter_scale, Extents()) : aligned_to_axis(filter_scale, 1, x.rank());
  const Tensor factor = number(1) * scale / number(6);
  return {
      to_quantized(cast(sums, f32) * factor, reshape(call.tensor(7), Extents()), call.dtype(7))};
}

constexpr OpRow kConvolutions[] = {
    {"Conv", record_conv},
    {"ConvInteger", record_conv_integer},
    {"ConvTranspose", record_conv_transpose},
    {"QLinearConv", record_q_linear_conv},
};

}  // namespace

std::span<const OpRow> convolution_ops() { return kConvolutions; }

}  // namespace sinter::onnx
