#include "tools/onnx/node/spatial_windows.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

namespace {

constexpr std::int64_t kMostSpatial = std::int64_t{1} << 31;

/// Padding with which the output has ceil(extent / stride) elements.
void set_same_padding(SpatialWindows& windows, std::span<const Extent> spatial, bool more_at_end) {
  for (std::size_t axis = 0; axis < windows.axes(); ++axis) {
    const std::int64_t stride = windows.strides[axis];
    std::int64_t total = windows.span(axis) - 1;
    if (stride != 1) {
      if (!spatial[axis].is_number())
        refuse(
            fmt::format("auto_pad needs the extent of spatial axis {}, which is {}; give its size "
                        "with --dim",
                        axis, to_string(spatial[axis])));
      const std::int64_t extent = spatial[axis].number();
      const std::int64_t count = extent / stride + (extent % stride != 0);
      total = (count - 1) * stride + windows.span(axis) - extent;
    }
    total = std::max<std::int64_t>(total, 0);
    windows.begin[axis] = more_at_end ? total / 2 : total - total / 2;
    windows.end[axis] = total - windows.begin[axis];
  }
}

}  // namespace

std::vector<std::int64_t> spatial_list(const Call& call, std::string_view name, std::size_t count,
                                       std::int64_t otherwise, std::int64_t least) {
  std::vector<std::int64_t> list =
      call.attributes().integers(name, std::vector<std::int64_t>(count, otherwise));
  if (list.empty()) list.assign(count, otherwise);
  const bool is_valid = list.size() == count && std::ranges::all_of(list, [&](std::int64_t item) {
                          return item >= least && item <= kMostSpatial;
                        });
  if (!is_valid)
    refuse(fmt::format("{} is [{}]; it must have {} numbers from {} up", name,
                       fmt::join(list, ", "), count, least));
  return list;
}

SpatialWindows spatial_windows(const Call& call, std::span<const Extent> spatial,
                               std::vector<std::int64_t> kernel) {
  const std::size_t count = spatial.size();
  if (kernel.size() != count ||
      std::ranges::any_of(kernel, [](std::int64_t k) { return k < 1 || k > kMostSpatial; }))
    refuse(
        fmt::format("kernel_shape is [{}], for {} spatial axes", fmt::join(kernel, ", "), count));
  SpatialWindows windows{.kernel = std::move(kernel),
                         .strides = spatial_list(call, "strides", count, 1, 1),
                         .dilations = spatial_list(call, "dilations", count, 1, 1)};
  const std::vector<std::int64_t> pads = spatial_list(call, "pads", 2 * count, 0, 0);
  windows.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(count));
  windows.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(count), pads.end());
  const std::string automatic = call.attributes().text("auto_pad", "NOTSET");
  if (automatic == "NOTSET") return windows;
  std::ranges::fill(windows.begin, 0);
  std::ranges::fill(windows.end, 0);
  if (automatic == "VALID") return windows;
  if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
    refuse(fmt::format("auto_pad is '{}'; it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                       automatic));
  set_same_padding(windows, spatial, automatic == "SAME_UPPER");
  return windows;
}

}  // namespace sinter::onnx
