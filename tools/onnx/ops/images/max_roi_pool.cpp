// MaxRoiPool: the largest element of each bin of a region. The sizes of bins depend on the regions.
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <limits>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The bins along one axis of the image.
struct RoiBins {
  Tensor covers;  ///< [regions, bins, elements]: true for the elements of a bin
  Tensor is_any;  ///< [regions, bins]: true if the bin has elements
};

/// The bins of regions from `first` to `last` [regions], whose ends belong to them.
RoiBins roi_bins(const Call& call, const Tensor& first, const Tensor& last, std::int64_t bins,
                 Extent elements) {
  const DType dtype = first.dtype();
  const Tensor size = unsqueeze(maximum(last - first + 1, 1) / static_cast<double>(bins), 1);
  const Tensor number = cast(iota(call.graph(), bins), dtype);
  const Tensor extent = cast(call.size_value(elements), dtype);
  const auto inside = [&](const Tensor& x) {
    return minimum(maximum(x + unsqueeze(first, 1), 0), extent);
  };
  const Tensor begin = inside(floor(number * size));
  const Tensor end = inside(ceil((number + 1) * size));
  const Tensor position = cast(iota(call.graph(), elements), dtype);
  return {logical_and(position >= unsqueeze(begin, 2), position < unsqueeze(end, 2)), end > begin};
}

Outputs record_max_roi_pool(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  if (x.rank() != 4 || call.rank(1) != 2)
    refuse(fmt::format("its inputs have the ranks {} and {}; they must be 4 and 2", x.rank(),
                       call.rank(1)));
  const std::vector<std::int64_t> pooled = call.attributes().integers("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    refuse("pooled_shape must be two numbers of at least 1");
  const Tensor regions = cast(call.tensor(1), x.dtype() == f64 ? f64 : f32);
  const double scale = call.attributes().real("spatial_scale", 1);
  // Each region is batch, x1, y1, x2, y2. Halves round up.
  const auto corner = [&](int i) { return floor(select(regions, 1, i) * scale + 0.5); };
  const RoiBins rows = roi_bins(call, corner(2), corner(4), pooled[0], x.shape()[2]);
  const RoiBins columns = roi_bins(call, corner(1), corner(3), pooled[1], x.shape()[3]);
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  const Tensor images = take(x, cast(select(regions, 1, 0), i64), 0);  // [r, c, h, w]
  const Tensor covers_column = unsqueeze(unsqueeze(columns.covers, 1), 1);
  const Tensor by_column =
      max(where(covers_column, unsqueeze(images, 3), kLowest), {-1});  // [r, c, h, columns]
  const Tensor covers_row = unsqueeze(unsqueeze(rows.covers, 1), -1);
  const Tensor largest = max(where(covers_row, unsqueeze(by_column, 2), kLowest), {3});
  const Tensor is_any = logical_and(unsqueeze(rows.is_any, 2), unsqueeze(columns.is_any, 1));
  return {where(unsqueeze(is_any, 1), largest, 0)};
}

constexpr OpRow kMaxRoiPool[] = {{"MaxRoiPool", record_max_roi_pool}};

}  // namespace

std::span<const OpRow> max_roi_pool_ops() { return kMaxRoiPool; }

}  // namespace sinter::onnx
