// Pooling over windows of the spatial axes, and over all of them.
#include "ir/shape/extent.h"
#include "sinter/views.h"
#include "tools/onnx/node/limits.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/node/spatial_windows.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr std::size_t kSpatial = 2;  ///< the first spatial axis of [n, c, …]

void require_spatial(const Tensor& x) {
  if (x.rank() < 3) refuse(fmt::format("its input has rank {}; it must be at least 3", x.rank()));
}

/// Windows, and how many there are per axis.
struct PoolingPlan {
  SpatialWindows windows;
  std::vector<Extent> counts;
  std::vector<std::int64_t> extra;  ///< elements after the padding that the last window covers
};

/// With ceil_mode, the last window may begin before the end of the padded input and end after it.
/// It must not begin in the padding after the input.
void add_last_window(PoolingPlan& plan, std::size_t axis, Extent extent) {
  const SpatialWindows& windows = plan.windows;
  if (!extent.is_number()) {
    if (windows.strides[axis] == 1) return;
    refuse(fmt::format(
        "ceil_mode needs the extent of spatial axis {}, which is {}; give its size with "
        "--dim",
        axis, to_string(extent)));
  }
  const std::int64_t begin = windows.begin[axis];
  const std::int64_t padded = extent.number() + begin + windows.end[axis];
  const std::int64_t stride = windows.strides[axis];
  const std::int64_t room = padded - windows.span(axis);
  std::int64_t count = room / stride + (room % stride > 0) + 1;
  if ((count - 1) * stride >= extent.number() + begin) --count;
  plan.counts[axis] = count;
  plan.extra[axis] = std::max<std::int64_t>((count - 1) * stride + windows.span(axis) - padded, 0);
}

PoolingPlan pooling_plan(const Call& call, const Tensor& x) {
  require_spatial(x);
  const std::span<const Extent> spatial = x.shape().subspan(kSpatial);
  PoolingPlan plan{.windows =
                       spatial_windows(call, spatial, call.attributes().integers("kernel_shape"))};
  plan.extra.assign(spatial.size(), 0);
  for (std::size_t axis = 0; axis < spatial.size(); ++axis) {
    const SpatialWindows& windows = plan.windows;
    const Extent room =
        spatial[axis] + windows.begin[axis] + windows.end[axis] - windows.span(axis);
    if (provably_negative(room))
      refuse(
          fmt::format("its window covers {} elements of spatial axis {}, which has {} with padding",
                      windows.span(axis), axis, to_string(room + windows.span(axis))));
    plan.counts.push_back(floor_div(room, windows.strides[axis]) + 1);
    if (call.attributes().flag("ceil_mode", false)) add_last_window(plan, axis, spatial[axis]);
  }
  return plan;
}

/// The windows of x as last axes. The padding and what the last windows cover beyond it contain
/// `filler` and `beyond`.
Tensor windows_of(const Call& call, const Tensor& x, const PoolingPlan& plan, Literal filler,
                  Literal beyond) {
  const SpatialWindows& windows = plan.windows;
  Tensor result = x;
  const auto extended = [&](int axis, std::int64_t before, std::int64_t after, Literal value) {
    const auto filled = [&](std::int64_t count) {
      std::vector<Extent> shape(result.shape().begin(), result.shape().end());
      shape[static_cast<std::size_t>(axis)] = count;
      return full(call.graph(), shape, value, x.dtype());
    };
    std::vector<Tensor> pieces;
    if (before > 0) pieces.push_back(filled(before));
    pieces.push_back(result);
    if (after > 0) pieces.push_back(filled(after));
    if (pieces.size() > 1) result = concat(pieces, axis);
  };
  for (std::size_t i = 0; i < windows.axes(); ++i) {
    const auto axis = static_cast<int>(kSpatial + i);
    extended(axis, windows.begin[i], windows.end[i], filler);
    extended(axis, 0, plan.extra[i], beyond);
  }
  for (std::size_t i = 0; i < windows.axes(); ++i) {
    const auto axis = static_cast<int>(kSpatial + i);
    result = unfold(result, axis, windows.span(i), windows.strides[i]);
    result = slice(result, axis, 0, plan.counts[i]);
    if (windows.dilations[i] != 1)
      result = slice(result, result.rank() - 1, 0, windows.span(i),
                     static_cast<int>(windows.dilations[i]));
  }
  return result;
}

std::vector<std::int64_t> window_axes(const PoolingPlan& plan) {
  std::vector<std::int64_t> axes;
  for (std::size_t i = plan.windows.axes(); i > 0; --i)
    axes.push_back(-static_cast<std::int64_t>(i));
  return axes;
}

/// The index in x of element `within` of each window; the elements of a window are in row-major
/// order. With storage_order = 1, the first spatial axis varies fastest.
Tensor indices_in_input(const Call& call, const Tensor& x, const Tensor& within,
                        const PoolingPlan& plan) {
  const bool is_column_major = call.attributes().flag("storage_order", false);
  const SpatialWindows& windows = plan.windows;
  Tensor rest = within;
  std::vector<Tensor> along(windows.axes());
  for (std::size_t i = windows.axes(); i-- > 0;) {
    const Tensor step = i == 0 ? rest : fmod(rest, windows.kernel[i]);
    if (i > 0) rest = floordiv(rest, windows.kernel[i]);
    const Tensor begins = iota(call.graph(), plan.counts[i], -windows.begin[i], windows.strides[i]);
    along[i] = aligned_to_axis(begins, static_cast<int>(kSpatial + i), x.rank()) +
               step * windows.dilations[i];
    // The first element of a window of only -inf may be padding.
    along[i] = maximum(along[i], 0);
  }
  Tensor index =
      positions_along(call, x, 0) * call.size_value(x.shape()[1]) + positions_along(call, x, 1);
  Tensor position;
  for (std::size_t i = 0; i < along.size(); ++i) {
    const std::size_t axis = is_column_major ? along.size() - 1 - i : i;
    const Tensor extent = call.size_value(x.shape()[kSpatial + axis]);
    position = position.node() ? position * extent + along[axis] : along[axis];
    index = index * extent;
  }
  return index + position;
}

Outputs record_max_pool(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const PoolingPlan plan = pooling_plan(call, x);
  const Literal lowest = lowest_value(x.dtype());
  const Tensor windows = windows_of(call, x, plan, lowest, lowest);
  if (!call.wants_output(1)) {
    call.attributes().ignore("storage_order");  // of the indices
    return {max(windows, window_axes(plan))};
  }
  std::vector<Extent> merged(x.shape().begin(), x.shape().begin() + kSpatial);
  merged.insert(merged.end(), plan.counts.begin(), plan.counts.end());
  merged.emplace_back(-1);
  const WithIndex largest = max_with_index(reshape(windows, merged), -1);
  return {largest.value, indices_in_input(call, x, largest.index, plan)};
}

/// Puts each element at its index in an array of zeros.
Outputs record_max_unpool(const Call& call) {
  require_inputs(call, 2, 3);
  const Tensor x = call.tensor(0);
  require_spatial(x);
  const SpatialWindows windows = spatial_windows(call, x.shape().subspan(kSpatial),
                                                 call.attributes().integers("kernel_shape"));
  std::vector<Extent> shape(x.shape().begin(), x.shape().begin() + kSpatial);
  Extent size = shape[0] * shape[1];
  for (std::size_t i = 0; i < windows.axes(); ++i) {
    shape.push_back((x.shape()[kSpatial + i] - 1) * windows.strides[i] + windows.kernel[i] -
                    (windows.begin[i] + windows.end[i]));
    size = size * shape.back();
  }
  const Tensor zeros = full(call.graph(), {size}, number_of_dtype(0, x.dtype()), x.dtype());
  const Tensor indices = reshape(call.tensor(1), {-1});
  const Tensor result = reshape(index_put(zeros, reshape(x, {-1}), {indices}, {0}), shape);
  if (!call.has_input(2)) return {result};
  // The indices count in the shape above, to which a larger one adds zeros at the ends.
  const std::vector<std::int64_t> wanted = call.integers(2, "output shape");
  if (wanted.size() != shape.size())
    refuse(fmt::format("its output shape has {} extents, but its input has rank {}", wanted.size(),
                       x.rank()));
  std::vector<std::int64_t> added;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t extent = number_of(shape[i]);
    if (wanted[i] < extent)
      refuse(fmt::format("axis {} of its output shape is {}; it must be at least {}", i, wanted[i],
                         extent));
    added.push_back(wanted[i] - extent);
  }
  return {pad(result, std::vector<std::int64_t>(shape.size(), 0), added)};
}

bool has_padding(const PoolingPlan& plan) {
  const auto is_positive = [](std::int64_t count) { return count > 0; };
  return std::ranges::any_of(plan.windows.begin, is_positive) ||
         std::ranges::any_of(plan.windows.end, is_positive) ||
         std::ranges::any_of(plan.extra, is_positive);
}

/// The number of elements of each window that count for its mean.
Tensor counts_of(const Call& call, const Tensor& x, const PoolingPlan& plan, bool counts_padding) {
  std::vector<Extent> shape(x.shape().begin(), x.shape().end());
  shape[0] = 1;
  shape[1] = 1;
  const Tensor ones = full(call.graph(), shape, 1.0, f32);
  return sum(
      windows_of(call, ones, plan, Literal::of(counts_padding ? 1.0 : 0.0), Literal::of(0.0)),
      window_axes(plan));
}

Outputs record_average_pool(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const PoolingPlan plan = pooling_plan(call, x);
  const bool counts_padding = call.attributes().flag("count_include_pad", false);
  const Tensor wide = cast(x, x.dtype() == f64 ? f64 : f32);
  const Tensor windows = windows_of(call, wide, plan, Literal::of(0.0), Literal::of(0.0));
  if (!has_padding(plan)) return {cast(mean(windows, window_axes(plan)), x.dtype())};
  const Tensor total = sum(windows, window_axes(plan));
  return {cast(total / counts_of(call, x, plan, counts_padding), x.dtype())};
}

/// (Σ |x|^p)^(1/p)
Tensor p_norm(const Tensor& x, std::int64_t p, std::span<const std::int64_t> axes, Keep keep_axes) {
  if (p == 1) return sum(abs(x), axes, keep_axes);
  if (p == 2) return sqrt(sum(square(x), axes, keep_axes));
  const auto power = static_cast<double>(p);
  return pow(sum(pow(abs(x), power), axes, keep_axes), 1 / power);
}

std::int64_t norm_order(const Call& call) {
  const std::int64_t p = call.attributes().integer("p", 2);
  if (p < 1) refuse(fmt::format("p is {}; it must be at least 1", p));
  return p;
}

Outputs record_lp_pool(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const PoolingPlan plan = pooling_plan(call, x);
  const Tensor wide = cast(x, x.dtype() == f64 ? f64 : f32);
  const Tensor windows = windows_of(call, wide, plan, Literal::of(0.0), Literal::of(0.0));
  return {cast(p_norm(windows, norm_order(call), window_axes(plan), Keep::no), x.dtype())};
}

std::vector<std::int64_t> spatial_axes(const Tensor& x) {
  require_spatial(x);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.rank()) - kSpatial);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(kSpatial));
  return axes;
}

Outputs record_global_average_pool(const Call& call) {
  require_inputs(call, 1, 1);
  return {mean(call.tensor(0), spatial_axes(call.tensor(0)), keep)};
}

Outputs record_global_max_pool(const Call& call) {
  require_inputs(call, 1, 1);
  return {max(call.tensor(0), spatial_axes(call.tensor(0)), keep)};
}

Outputs record_global_lp_pool(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const Tensor wide = cast(x, x.dtype() == f64 ? f64 : f32);
  return {cast(p_norm(wide, norm_order(call), spatial_axes(x), keep), x.dtype())};
}

constexpr OpRow kPooling[] = {
    {"AveragePool", record_average_pool},
    {"GlobalAveragePool", record_global_average_pool},
    {"GlobalLpPool", record_global_lp_pool},
    {"GlobalMaxPool", record_global_max_pool},
    {"LpPool", record_lp_pool},
    {"MaxPool", record_max_pool},
    {"MaxUnpool", record_max_unpool},
};

}  // namespace

std::span<const OpRow> pooling_ops() { return kPooling; }

}  // namespace sinter::onnx
