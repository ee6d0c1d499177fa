// The windows of convolutions and pooling: strides, dilations and padding per spatial axis.
#pragma once

#include "tools/onnx/node/call.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::onnx {

/// All lists have one item per spatial axis.
struct SpatialWindows {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> begin;  ///< padding before the first element
  std::vector<std::int64_t> end;    ///< padding after the last element

  std::size_t axes() const { return kernel.size(); }
  /// The elements from the first to the last of a window.
  std::int64_t span(std::size_t axis) const { return dilations[axis] * (kernel[axis] - 1) + 1; }
};

/// The attributes strides, dilations, pads and auto_pad of a node on spatial axes of these extents.
/// Automatic padding needs extents that are numbers, unless the stride is 1. Throws UserError for
/// lists of another length, or numbers out of range.
SpatialWindows spatial_windows(const Call& call, std::span<const Extent> spatial,
                               std::vector<std::int64_t> kernel);

/// The attribute `name`, or `count` times `otherwise`. Throws UserError unless it has `count` items
/// from `least` up.
std::vector<std::int64_t> spatial_list(const Call& call, std::string_view name, std::size_t count,
                                       std::int64_t otherwise, std::int64_t least);

}  // namespace sinter::onnx
