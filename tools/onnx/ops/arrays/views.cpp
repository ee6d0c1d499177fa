// Operators that only move elements: views, parts and concatenation.
#include "sinter/views.h"
#include "ir/shape/extent.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/slice_input.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

std::vector<Extent> extents_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

/// An extent of 0 copies that of x, unless allowzero is set; one extent may be -1.
/// An attribute before opset 5.
std::vector<Extent> wanted_shape(const Call& call) {
  if (call.opset() >= 5) return call.extents(1, "shape");
  const std::vector<std::int64_t> shape = call.attributes().integers("shape");
  return {shape.begin(), shape.end()};
}

Outputs record_reshape(const Call& call) {
  require_inputs(call, 1, 2);
  const Tensor x = call.tensor(0);
  const bool allows_zero = call.attributes().flag("allowzero", false);
  std::vector<Extent> shape = wanted_shape(call);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is(0) || allows_zero) continue;
    if (i >= x.shape().size())
      refuse(
          fmt::format("extent {} of the shape is 0, but the input has only {} axes", i, x.rank()));
    shape[i] = x.shape()[i];
  }
  return {reshape(x, shape)};
}

Outputs record_transpose(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return {permute(x, call.attributes().integers("perm", order))};
}

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13, then an input.
std::optional<std::vector<std::int64_t>> given_axes(const Call& call) {
  require_inputs(call, 1, call.opset() < 13 ? 1 : 2);
  if (call.has_input(1)) return call.integers(1, "axes");
  if (call.opset() >= 13 || !call.attributes().has("axes")) return std::nullopt;
  return call.attributes().integers("axes");
}

Outputs record_squeeze(const Call& call) {
  const Tensor x = call.tensor(0);
  const auto given = given_axes(call);
  std::vector<std::int64_t> axes;
  if (given) axes = checked_axes(*given, x.rank());
  std::vector<Extent> shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
    const bool is_removed = given ? std::ranges::count(axes, axis) > 0 : extent.is(1);
    if (is_removed && !extent.is(1))
      refuse(fmt::format("axis {} has the extent {}; only axes of extent 1 can be removed", axis,
                         to_string(extent)));
    if (!is_removed) shape.push_back(extent);
  }
  return {reshape(x, shape)};
}

Outputs record_unsqueeze(const Call& call) {
  const Tensor x = call.tensor(0);
  const auto given = given_axes(call);
  if (!given) refuse("its axes are missing");
  if (given->size() > static_cast<std::size_t>(kMaxRank))
    refuse(fmt::format("it adds {} axes; values have at most {}", given->size(), kMaxRank));
  const int rank = x.rank() + static_cast<int>(given->size());
  const std::vector<std::int64_t> added = checked_axes(*given, rank);
  std::vector<Extent> shape;
  auto next = x.shape().begin();
  for (int axis = 0; axis < rank; ++axis)
    shape.push_back(std::ranges::count(added, axis) > 0 ? Extent(1) : *next++);
  return {reshape(x, shape)};
}

/// A matrix: the axes before `axis` become its rows. `axis` may be the rank.
Outputs record_flatten(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  std::int64_t axis = call.attributes().integer("axis", 1);
  if (axis < -x.rank() || axis > x.rank())
    refuse(fmt::format("axis {} is out of range for rank {}", axis, x.rank()));
  if (axis < 0) axis += x.rank();
  const std::span<const Extent> shape = x.shape();
  const auto split = static_cast<std::size_t>(axis);
  return {reshape(x, {product(shape.first(split)), product(shape.subspan(split))})};
}

/// Both shapes broadcast: an extent of 1 in `shape` keeps that of x.
Outputs record_expand(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  std::vector<Extent> shape = call.extents(1, "shape");
  const auto rank = static_cast<std::size_t>(x.rank());
  if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), Extent(1));
  for (std::size_t i = 0; i < rank; ++i) {
    Extent& extent = shape[shape.size() - 1 - i];
    if (extent.is(1)) extent = x.shape()[rank - 1 - i];
  }
  return {broadcast_to(x, shape)};
}

Outputs record_tile(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  const std::vector<Extent> repeats = call.extents(1, "repeats");
  if (repeats.size() != x.shape().size())
    refuse(fmt::format("it has {} repeats for {} axes", repeats.size(), x.rank()));
  // Each axis becomes two: the repeats, and the elements.
  std::vector<Extent> apart;
  std::vector<Extent> repeated;
  std::vector<Extent> result;
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const Extent extent = x.shape()[axis];
    if (!repeats[axis].is(1)) {
      apart.emplace_back(1);
      repeated.push_back(repeats[axis]);
    }
    apart.push_back(extent);
    repeated.push_back(extent);
    result.push_back(repeats[axis] * extent);
  }
  return {reshape(broadcast_to(reshape(x, apart), repeated), result)};
}

bool is_end(Extent extent) {
  return extent.is_number() && extent.number() >= std::numeric_limits<std::int32_t>::max();
}
bool is_before_begin(Extent extent) {
  return extent.is_number() && extent.number() <= -std::numeric_limits<std::int32_t>::max();
}

/// The elements of `range` along its axis.
Tensor sliced(const Tensor& x, const SliceRange& range) {
  const Extent extent = x.shape()[static_cast<std::size_t>(range.axis)];
  if (range.step > std::numeric_limits<int>::max() || range.step < -std::numeric_limits<int>::max())
    refuse(fmt::format("its step is {}; steps have at most 31 bits", range.step));
  const auto step = static_cast<int>(range.step);
  if (extent.is_number() && range.begin.is_number() && range.end.is_number()) {
    const NumberRange numbers =
        clamped_range(range.begin.number(), range.end.number(), range.step, extent.number());
    const std::int64_t last = numbers.begin + (numbers.count - 1) * range.step;
    if (numbers.count == 0) return slice(x, range.axis, 0, 0);
    if (step > 0) return slice(x, range.axis, numbers.begin, last + 1, step);
    const Tensor segment = slice(x, range.axis, last, numbers.begin + 1);
    return slice(flip(segment, {range.axis}), range.axis, 0, numbers.begin + 1 - last, -step);
  }
  if (step > 0)
    return slice(x, range.axis, is_before_begin(range.begin) ? Extent(0) : range.begin,
                 is_end(range.end) ? extent : range.end, step);
  // Position i becomes extent - 1 - i. Negative numbers count from the end.
  const auto flipped = [&](Extent at) {
    const bool is_from_end = at.is_number() && at.number() < 0;
    return is_from_end ? Extent(-1) - at : extent - 1 - at;
  };
  const Extent begin = is_end(range.begin) ? Extent(0) : flipped(range.begin);
  const Extent end = is_before_begin(range.end) ? extent : flipped(range.end);
  return slice(flip(x, {range.axis}), range.axis, begin, end, -step);
}

Outputs record_slice(const Call& call) {
  Tensor x = call.tensor(0);
  for (const SliceRange& range : slice_ranges(call, x.rank())) x = sliced(x, range);
  return {x};
}

/// The sizes of the parts: given, or equal with a smaller last part.
std::vector<Extent> split_sizes(const Call& call, Extent extent) {
  if (call.has_input(1)) return call.extents(1, "sizes");
  if (call.opset() < 13 && call.attributes().has("split")) {
    const std::vector<std::int64_t> sizes = call.attributes().integers("split");
    return {sizes.begin(), sizes.end()};
  }
  const auto outputs = static_cast<std::int64_t>(call.output_count());
  const std::int64_t count = call.attributes().integer("num_outputs", outputs);
  if (count < 1 || count != outputs)
    refuse(fmt::format("num_outputs is {}, but it has {} outputs", count, outputs));
  if (!extent.is_number()) {
    const auto quotient = divide_exactly(extent, count);
    if (!quotient)
      refuse(fmt::format("the extent {} does not split into {} equal parts for all sizes",
                         to_string(extent), count));
    return std::vector<Extent>(static_cast<std::size_t>(count), *quotient);
  }
  const std::int64_t size = (extent.number() + count - 1) / count;
  std::vector<Extent> sizes;
  for (std::int64_t i = 0; i < count; ++i)
    sizes.emplace_back(std::clamp<std::int64_t>(extent.number() - i * size, 0, size));
  return sizes;
}

Outputs record_split(const Call& call) {
  require_inputs(call, 1, 2);
  const Tensor x = call.tensor(0);
  const int axis = checked_axis(call.attributes().integer("axis", 0), x.rank());
  const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
  const std::vector<Extent> sizes = split_sizes(call, extent);
  Outputs outputs;
  Extent begin = 0;
  for (const Extent size : sizes) {
    if (provably_negative(size)) refuse(fmt::format("a part has the size {}", to_string(size)));
    outputs.push_back(slice(x, axis, begin, begin + size));
    begin = begin + size;
  }
  if (!(begin == extent) || sizes.size() != call.output_count())
    refuse(
        fmt::format("it makes {} parts with {} elements in total of the extent {} for {} outputs",
                    sizes.size(), to_string(begin), to_string(extent), call.output_count()));
  return outputs;
}

Outputs record_concat(const Call& call) {
  require_inputs(call, 1, 1 << 20);
  require_one_dtype(call);
  const Attributes& attributes = call.attributes();
  const std::int64_t wanted =
      call.opset() < 4 ? attributes.integer("axis", 1) : attributes.integer("axis");
  const int axis = checked_axis(wanted, call.rank(0));
  return {concat(call.tensors(), axis)};
}

/// The width of the blocks of pixels of x [n, c, h, w].
std::int64_t checked_block(const Call& call, const Tensor& x) {
  const std::int64_t block = call.attributes().integer("blocksize");
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (x.rank() != 4) refuse(fmt::format("its input has rank {}; it must have rank 4", x.rank()));
  if (block < 1 || block > kMost)
    refuse(fmt::format("blocksize is {}; it must be from 1 to {}", block, kMost));
  return block;
}

/// The order of the channels of a block: first the block or first the depth.
std::string checked_mode(const Call& call) {
  const std::string mode = call.attributes().text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    refuse(fmt::format("mode is '{}'; it must be DCR or CRD", mode));
  return mode;
}

/// [n, c, h, w] with channels moved to blocks of pixels.
Outputs record_depth_to_space(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const std::int64_t block = checked_block(call, x);
  const std::string mode = checked_mode(call);
  const std::vector<Extent> s = extents_of(x);
  const auto depth = divide_exactly(s[1], Extent(block) * block);
  if (!depth)
    refuse(fmt::format("the {} channels are no multiple of blocksize² = {}", to_string(s[1]),
                       block * block));
  const Tensor blocks =
      mode == "DCR"
          ? permute(reshape(x, {s[0], block, block, *depth, s[2], s[3]}), {0, 3, 4, 1, 5, 2})
          : permute(reshape(x, {s[0], *depth, block, block, s[2], s[3]}), {0, 1, 4, 2, 5, 3});
  return {reshape(blocks, {s[0], *depth, s[2] * block, s[3] * block})};
}

/// [n, c, h, w] with blocks of pixels moved to channels.
Outputs record_space_to_depth(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const std::int64_t block = checked_block(call, x);
  const std::string mode = checked_mode(call);
  const std::vector<Extent> s = extents_of(x);
  const auto height = divide_exactly(s[2], block);
  const auto width = divide_exactly(s[3], block);
  if (!height || !width)
    refuse(fmt::format("{} × {} pixels do not divide into blocks of {}", to_string(s[2]),
                       to_string(s[3]), block));
  const Tensor apart = reshape(x, {s[0], s[1], *height, block, *width, block});
  const Tensor blocks =
      mode == "DCR" ? permute(apart, {0, 3, 5, 1, 2, 4}) : permute(apart, {0, 1, 3, 5, 2, 4});
  return {reshape(blocks, {s[0], s[1] * block * block, *height, *width})};
}

constexpr OpRow kViews[] = {
    {"Concat", record_concat},
    {"DepthToSpace", record_depth_to_space},
    {"Expand", record_expand},
    {"Flatten", record_flatten},
    {"Reshape", record_reshape},
    {"Slice", record_slice},
    {"SpaceToDepth", record_space_to_depth},
    {"Split", record_split},
    {"Squeeze", record_squeeze},
    {"Tile", record_tile},
    {"Transpose", record_transpose},
    {"Unsqueeze", record_unsqueeze},
};

}  // namespace

std::span<const OpRow> view_ops() { return kViews; }

}  // namespace sinter::onnx
