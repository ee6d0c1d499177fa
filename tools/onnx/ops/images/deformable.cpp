// DeformConv: a convolution whose filters read at positions that an input shifts.
#include "sinter/library_ops.h"
#include "sinter/nn.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/spatial_windows.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/images/sampling.h"
#include "tools/onnx/ops/op_table.h"

#include <array>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The two neighbours of positions along an axis of extent n. The weight of one outside is 0.
struct Neighbours {
  std::array<Tensor, 2> index;
  std::array<Tensor, 2> weight;
};

Neighbours neighbours_of(const Tensor& position, std::int64_t n) {
  const auto last = static_cast<double>(n - 1);
  const Tensor left = floor(position);
  const Tensor t = position - left;
  Neighbours result;
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor at = i == 0 ? left : left + 1;
    const Tensor is_inside = logical_and(at >= 0, at <= last);
    result.index[i] = cast(clamp(at, 0.0, last), i64);
    result.weight[i] = where(is_inside, i == 0 ? 1 - t : t, 0);
  }
  return result;
}

/// Everything about a node with two spatial axes.
struct Deformation {
  Tensor x;       ///< [n, channels, h, w]
  Tensor offset;  ///< [n, offset groups, filter elements, 2, rows, columns]
  Tensor mask;    ///< [n, offset groups, filter elements, rows, columns], or empty
  SpatialWindows windows;
  DType compute = f32;
};

/// The positions along a spatial axis that the filters read: [n, filter elements, rows, columns].
Tensor positions_of(const Call& call, const Deformation& given, std::int64_t group, int axis) {
  const auto i = static_cast<std::size_t>(axis);
  const SpatialWindows& windows = given.windows;
  const auto offset = given.offset.shape();
  const Tensor begins = iota(call.graph(), offset[i + 4], -windows.begin[i], windows.strides[i]);
  const Tensor steps = iota(call.graph(), windows.kernel[i], 0, windows.dilations[i]);
  // The elements of a filter are in row-major order.
  const Tensor in_filter = reshape(
      broadcast_to(axis == 0 ? unsqueeze(steps, 1) : steps, {windows.kernel[0], windows.kernel[1]}),
      {-1, 1, 1});
  const Tensor place = in_filter + (axis == 0 ? unsqueeze(begins, 1) : begins);
  const Tensor shift = select(select(given.offset, 1, group), 2, axis);
  return cast(place, given.compute) + shift;
}

/// The elements that the filters read of the channels of one offset group: [n, filter elements,
/// rows, columns, channels].
Tensor samples_of(const Call& call, const Deformation& given, const Tensor& channels,
                  std::int64_t group) {
  const auto along = [&](int axis) {
    return neighbours_of(positions_of(call, given, group, axis),
                         number_of(channels.shape()[static_cast<std::size_t>(axis) + 2]));
  };
  const Neighbours y = along(0);
  const Neighbours x = along(1);
  const Tensor images = iota(call.graph(), channels.shape()[0]);
  Tensor total;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      const Tensor elements = elements_at(channels, images, {y.index[i], x.index[j]});
      const Tensor term = elements * unsqueeze(y.weight[i] * x.weight[j], -1);
      total = total.node() ? total + term : term;
    }
  if (given.mask.node()) total = total * unsqueeze(select(given.mask, 1, group), -1);
  return total;
}

Deformation deformation_of(const Call& call, std::int64_t groups) {
  Deformation given{.x = call.tensor(0)};
  if (given.x.rank() != 4 || call.rank(1) != 4 || call.rank(2) != 4)
    refuse(
        fmt::format("its input, filters and offsets have the ranks {}, {} and {}; sinter imports "
                    "two spatial axes, for which all are 4",
                    given.x.rank(), call.rank(1), call.rank(2)));
  const std::vector<Extent> filters = call.shape(1);
  const std::vector<std::int64_t> kernel = {number_of(filters[2]), number_of(filters[3])};
  call.attributes().ignore("kernel_shape");  // that of the filters
  given.compute = given.x.dtype() == f64 ? f64 : f32;
  given.x = cast(given.x, given.compute);
  given.windows = spatial_windows(call, given.x.shape().subspan(2), kernel);
  const Tensor offset = cast(call.tensor(2), given.compute);
  const Extent elements = kernel[0] * kernel[1];
  const auto shape = offset.shape();
  given.offset = reshape(offset, {shape[0], groups, elements, 2, shape[2], shape[3]});
  if (call.has_input(4))
    given.mask = reshape(cast(call.tensor(4), given.compute),
                         {shape[0], groups, elements, shape[2], shape[3]});
  return given;
}

Outputs record_deformable_convolution(const Call& call) {
  require_inputs(call, 3, 5);
  const std::int64_t offset_groups = call.attributes().integer("offset_group", 1);
  const std::int64_t groups = call.attributes().integer("group", 1);
  const Deformation given = deformation_of(call, offset_groups);
  const std::int64_t channels = number_of(given.x.shape()[1]);
  const std::int64_t filters = number_of(call.shape(1)[0]);
  if (offset_groups < 1 || groups < 1 || channels % offset_groups != 0 || channels % groups != 0 ||
      filters % groups != 0)
    refuse(
        fmt::format("{} channels and {} filters do not divide into {} groups, or {} groups of "
                    "offsets",
                    channels, filters, groups, offset_groups));
  std::vector<Tensor> parts;
  const std::int64_t width = channels / offset_groups;
  for (std::int64_t group = 0; group < offset_groups; ++group)
    parts.push_back(
        samples_of(call, given, slice(given.x, 1, group * width, (group + 1) * width), group));
  // [n, filter elements, rows, columns, channels] as the columns of a matrix product
  const Tensor samples = permute(concat(parts, 4), {0, 4, 1, 2, 3});
  const auto shape = samples.shape();
  const Tensor columns = reshape(samples, {shape[0], groups, -1, shape[3] * shape[4]});
  const Tensor rows = reshape(cast(call.tensor(1), given.compute), {groups, filters / groups, -1});
  Tensor y = reshape(matmul(rows, columns), {shape[0], filters, shape[3], shape[4]});
  if (call.has_input(3)) y = y + with_trailing_axes(cast(call.tensor(3), given.compute), 2);
  return {cast(y, call.dtype(0))};
}

constexpr OpRow kDeformable[] = {{"DeformConv", record_deformable_convolution}};

}  // namespace

std::span<const OpRow> deformable_ops() { return kDeformable; }

}  // namespace sinter::onnx
