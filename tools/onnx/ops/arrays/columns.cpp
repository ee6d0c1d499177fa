// Col2Im and Compress.
#include "ir/autodiff/structural_vjp.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/spatial_windows.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

namespace {

/// The last axis with `gap` zeros between its elements.
Tensor spread(const Tensor& x, std::int64_t gap) {
  if (gap == 0) return x;
  std::vector<std::int64_t> low(static_cast<std::size_t>(x.rank()) + 1, 0);
  std::vector<std::int64_t> high = low;
  high.back() = gap;
  std::vector<Extent> shape(x.shape().begin(), x.shape().end());
  const Extent extent = shape.back();
  shape.back() = extent * (gap + 1);
  const Tensor apart = reshape(pad(unsqueeze(x, -1), low, high, 0), shape);
  return slice(apart, -1, 0, (extent - 1) * (gap + 1) + 1);
}

/// Adds blocks [n, channels * block, blocks] up to an image, in which they overlap.
Outputs record_col2im(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor x = call.tensor(0);
  const std::vector<std::int64_t> image = call.integers(1, "image shape");
  const std::vector<std::int64_t> block = call.integers(2, "block shape");
  if (x.rank() != 3 || image.empty() || block.size() != image.size())
    refuse(fmt::format("its input has rank {}, for {} extents of the image and {} of the block",
                       x.rank(), image.size(), block.size()));
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const std::int64_t extent : image)
    if (extent < 1 || extent > kMost)
      refuse(fmt::format("an extent of the image is {}; it must be from 1 to {}", extent, kMost));
  const std::vector<Extent> spatial(image.begin(), image.end());
  const SpatialWindows windows = spatial_windows(call, spatial, block);
  const std::int64_t columns = number_of(x.shape()[1]);
  std::int64_t elements = 1;
  for (const std::int64_t extent : block)
    if (__builtin_mul_overflow(elements, extent, &elements) || columns % elements != 0)
      refuse(
          fmt::format("axis 1 of its input is {}; it must be a multiple of the {} elements of "
                      "a block",
                      columns, fmt::join(block, " × ")));
  const std::size_t axes = image.size();
  std::vector<Extent> shape = {x.shape()[0], columns / elements};
  shape.insert(shape.end(), block.begin(), block.end());
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t room = image[i] + windows.begin[i] + windows.end[i] - windows.span(i);
    if (room < 0) refuse(fmt::format("a block is larger than axis {} of the image", i));
    shape.emplace_back(room / windows.strides[i] + 1);
  }
  // The blocks along each axis come first, then the elements of a block.
  std::vector<std::int64_t> order = {0, 1};
  for (std::size_t i = 0; i < axes; ++i) order.push_back(static_cast<std::int64_t>(2 + axes + i));
  for (std::size_t i = 0; i < axes; ++i) order.push_back(static_cast<std::int64_t>(2 + i));
  Tensor total = permute(reshape(x, shape), order);
  for (std::size_t i = axes; i-- > 0;) {
    const Extent padded = image[i] + windows.begin[i] + windows.end[i];
    total =
        fold_windows(spread(total, windows.dilations[i] - 1), 2 + i, windows.strides[i], padded);
    total = slice(total, static_cast<int>(2 + i), windows.begin[i], windows.begin[i] + image[i]);
  }
  return {total};
}

/// The elements at the true elements of a condition, which must be known: it decides the shape.
Outputs record_compress(const Call& call) {
  require_inputs(call, 2, 2);
  const bool is_flat = !call.attributes().has("axis");
  const Tensor x = is_flat ? reshape(call.tensor(0), {-1}) : call.tensor(0);
  const int axis = is_flat ? 0 : checked_axis(call.attributes().integer("axis", 0), x.rank());
  const KnownValue& condition = call.known(1, "condition");
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < condition.items.size(); ++i)
    if (condition.items[i].is_integer() && condition.items[i].extent.number() != 0)
      chosen.push_back(static_cast<std::int64_t>(i));
  HostArray indices(i64, {static_cast<std::int64_t>(chosen.size())});
  for (std::size_t i = 0; i < chosen.size(); ++i)
    indices.set_integer_at(static_cast<std::int64_t>(i), chosen[i]);
  return {take(x, call.constant(call.table_name("indices"), std::move(indices)), axis)};
}

constexpr OpRow kColumns[] = {
    {"Col2Im", record_col2im},
    {"Compress", record_compress},
};

}  // namespace

std::span<const OpRow> column_ops() { return kColumns; }

}  // namespace sinter::onnx
