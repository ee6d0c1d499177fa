// GridSample and AffineGrid.
#include "sinter/nn.h"
#include "sinter/views.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/images/sampling.h"
#include "tools/onnx/ops/op_table.h"

#include <optional>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The value of positions outside of x.
enum class OutsideOfGrid : std::uint8_t { zeros, border, reflection };

struct GridOptions {
  std::string mode;  ///< nearest, linear or cubic
  OutsideOfGrid outside = OutsideOfGrid::zeros;
  bool are_corners = false;  ///< -1 and 1 are the centres of the first and the last element
};

GridOptions options_of_grid(const Call& call) {
  GridOptions options{.mode = call.attributes().text("mode", "linear"),
                      .are_corners = call.attributes().flag("align_corners", false)};
  if (options.mode == "bilinear") options.mode = "linear";  // before opset 20
  if (options.mode == "bicubic") options.mode = "cubic";
  if (options.mode != "nearest" && options.mode != "linear" && options.mode != "cubic")
    refuse(fmt::format("mode is {}; it must be nearest, linear or cubic", options.mode));
  const std::string outside = call.attributes().text("padding_mode", "zeros");
  if (outside == "border")
    options.outside = OutsideOfGrid::border;
  else if (outside == "reflection")
    options.outside = OutsideOfGrid::reflection;
  else if (outside != "zeros")
    refuse(fmt::format("padding_mode is {}; it must be zeros, border or reflection", outside));
  return options;
}

/// Mirrors `at` at the ends of an axis of extent n until it is inside.
Tensor reflected(const Tensor& at, std::int64_t n, bool are_corners) {
  const double low = are_corners ? 0 : -0.5;
  const double length = are_corners ? static_cast<double>(n - 1) : static_cast<double>(n);
  if (length == 0) return at * 0;
  const Tensor within = remainder(at - low, 2 * length);
  return minimum(within, 2 * length - within) + low;
}

/// A position in [-1, 1] as an index of an axis of extent n, in reals.
Tensor denormalized(const Tensor& position, std::int64_t n, const GridOptions& options) {
  const auto extent = static_cast<double>(n);
  Tensor at =
      options.are_corners ? (position + 1) / 2 * (extent - 1) : ((position + 1) * extent - 1) / 2;
  if (options.mode == "nearest") at = round(at);
  const double low = options.are_corners ? 0 : -0.5;
  const Tensor is_outside = logical_or(at<low, at> extent - 1 - low);
  if (options.outside == OutsideOfGrid::border)
    return where(is_outside, clamp(at, 0.0, extent - 1), at);
  if (options.outside == OutsideOfGrid::reflection)
    return where(is_outside, reflected(at, n, options.are_corners), at);
  return at;
}

/// One element along an axis that a sample reads.
struct GridTap {
  Tensor index;
  std::optional<Tensor> weight;
};

/// Weights of Keys's cubic convolution with coefficient -3/4 for the elements -1, 0, 1 and 2 of a
/// position `t` behind element 0.
std::vector<Tensor> cubic_weights(const Tensor& t) {
  constexpr double kA = -0.75;
  const auto far = [](const Tensor& d) { return ((d * kA - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const auto near = [](const Tensor& d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

/// The tap at the whole number `at`, moved into the axis. The weight of an element outside is 0 for
/// zeros.
GridTap tap_at(const Tensor& at, std::optional<Tensor> weight, std::int64_t n,
               const GridOptions& options) {
  const double last = static_cast<double>(n - 1);
  Tensor position = at;
  if (options.outside == OutsideOfGrid::reflection)
    position = reflected(at, n, options.are_corners);
  if (options.outside == OutsideOfGrid::zeros) {
    const Tensor is_inside = logical_and(at >= 0, at <= last);
    weight = weight ? where(is_inside, *weight, 0) : cast(is_inside, at.dtype());
  }
  return {cast(clamp(position, 0.0, last), i64), weight};
}

std::vector<GridTap> taps_at(const Tensor& at, std::int64_t n, const GridOptions& options) {
  if (options.mode == "nearest") return {tap_at(at, std::nullopt, n, options)};
  const Tensor left = floor(at);
  const Tensor t = at - left;
  if (options.mode == "linear")
    return {tap_at(left, 1 - t, n, options), tap_at(left + 1, t, n, options)};
  std::vector<GridTap> taps;
  const std::vector<Tensor> weights = cubic_weights(t);
  for (int i = 0; i < 4; ++i)
    taps.push_back(tap_at(left + (i - 1), weights[static_cast<std::size_t>(i)], n, options));
  return taps;
}

/// Adds up x over all combinations of one tap per axis.
class TapSum {
 public:
  TapSum(const Tensor& x, const Tensor& images, std::span<const std::vector<GridTap>> taps)
      : x_(x), images_(images), taps_(taps) {}

  Tensor run() {
    add_combinations({}, std::nullopt);
    return total_;
  }

 private:
  void add_combinations(const std::vector<Tensor>& indices, const std::optional<Tensor>& weight) {
    if (indices.size() == taps_.size()) {
      const Tensor value = elements_at(x_, images_, indices);
      const Tensor term = weight ? value * unsqueeze(*weight, -1) : value;
      total_ = total_.node() ? total_ + term : term;
      return;
    }
    for (const GridTap& tap : taps_[indices.size()]) {
      std::vector<Tensor> more = indices;
      more.push_back(tap.index);
      std::optional<Tensor> product = weight;
      if (tap.weight) product = product ? *product * *tap.weight : *tap.weight;
      add_combinations(more, product);
    }
  }

  const Tensor& x_;
  const Tensor& images_;
  std::span<const std::vector<GridTap>> taps_;
  Tensor total_;
};

Outputs record_grid_sample(const Call& call) {
  const Tensor x = call.tensor(0);
  const Tensor grid = call.tensor(1);
  const GridOptions options = options_of_grid(call);
  const int axes = x.rank() - 2;
  if (axes < 1 || grid.rank() != x.rank() || !grid.shape().back().is(axes))
    refuse(fmt::format("x is {} and the grid {}; the grid needs one number per spatial axis of x",
                       to_string(x.shape()), to_string(grid.shape())));
  // Cubic samples read 4 elements per axis, so the number of terms is 4 to the power of the axes.
  constexpr int kMostAxes = 4;
  if (axes > kMostAxes)
    refuse(fmt::format("x has {} spatial axes; sinter samples up to {}", axes, kMostAxes));
  const DType compute = x.dtype() == f64 || grid.dtype() == f64 ? f64 : f32;
  std::vector<std::vector<GridTap>> taps;
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t n = number_of(x.shape()[static_cast<std::size_t>(axis) + 2]);
    // The grid has the last axis first.
    const Tensor position = cast(select(grid, -1, axes - 1 - axis), compute);
    taps.push_back(taps_at(denormalized(position, n, options), n, options));
  }
  const Tensor images = iota(call.graph(), x.shape()[0]);
  const bool is_weighted = taps[0][0].weight.has_value();
  const Tensor samples = TapSum(is_weighted ? cast(x, compute) : x, images, taps).run();
  return {cast(with_channels_second(samples), x.dtype())};
}

/// The centres of n elements in [-1, 1], or with the first and the last one at the ends.
Tensor normalized_positions(const Call& call, std::int64_t n, bool are_corners, DType dtype) {
  const Tensor number = cast(iota(call.graph(), n), dtype);
  const auto extent = static_cast<double>(n);
  if (!are_corners) return (number * 2 + 1) / extent - 1;
  return n == 1 ? number - 1 : number * (2 / (extent - 1)) - 1;
}

/// theta [n, axes, axes + 1] applied to the positions of an array with extents `size`.
Outputs record_affine_grid(const Call& call) {
  const Tensor theta = call.tensor(0);
  const std::vector<std::int64_t> size = call.integers(1, "size");
  const bool are_corners = call.attributes().flag("align_corners", false);
  const auto axes = static_cast<int>(size.size()) - 2;
  if (axes < 1 || theta.rank() != 3 || !theta.shape()[1].is(axes) || !theta.shape()[2].is(axes + 1))
    refuse(fmt::format("theta is {} for a size of {} axes", to_string(theta.shape()), size.size()));
  std::vector<Tensor> coordinates;
  for (int row = 0; row < axes; ++row) {
    const auto factor = [&](int column) {
      std::vector<Extent> shape(static_cast<std::size_t>(axes) + 1, Extent(1));
      shape[0] = theta.shape()[0];
      return reshape(select(select(theta, 1, row), 1, column), shape);
    };
    Tensor sum = factor(axes);
    for (int column = 0; column < axes; ++column) {
      const int axis = axes - 1 - column;  // the last axis comes first
      const std::int64_t extent = size[static_cast<std::size_t>(axis) + 2];
      std::vector<Extent> shape(static_cast<std::size_t>(axes) + 1, Extent(1));
      shape[static_cast<std::size_t>(axis) + 1] = extent;
      const Tensor position = normalized_positions(call, extent, are_corners, theta.dtype());
      sum = sum + factor(column) * reshape(position, shape);
    }
    coordinates.push_back(sum);
  }
  return {stack(coordinates, -1)};
}

constexpr OpRow kGridOps[] = {
    {"AffineGrid", record_affine_grid},
    {"GridSample", record_grid_sample},
};

}  // namespace

std::span<const OpRow> grid_ops() { return kGridOps; }

}  // namespace sinter::onnx
