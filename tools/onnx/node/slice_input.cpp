#include "tools/onnx/node/slice_input.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

std::vector<Extent> as_extents(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::vector<SliceRange> slice_ranges(const Call& call, int rank) {
  const bool has_inputs = call.opset() >= 10;
  const std::vector<Extent> begins =
      has_inputs ? call.extents(1, "starts") : as_extents(call.attributes().integers("starts"));
  const std::vector<Extent> ends =
      has_inputs ? call.extents(2, "ends") : as_extents(call.attributes().integers("ends"));
  std::vector<std::int64_t> axes(begins.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (!has_inputs) axes = call.attributes().integers("axes", axes);
  if (has_inputs && call.has_input(3)) axes = call.integers(3, "axes");
  std::vector<std::int64_t> steps(begins.size(), 1);
  if (has_inputs && call.has_input(4)) steps = call.integers(4, "steps");
  if (ends.size() != begins.size() || axes.size() != begins.size() || steps.size() != begins.size())
    refuse(fmt::format("it has {} starts, {} ends, {} axes and {} steps; the numbers must agree",
                       begins.size(), ends.size(), axes.size(), steps.size()));
  axes = checked_axes(axes, rank);
  std::vector<SliceRange> ranges;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) refuse("a step is 0");
    ranges.push_back(
        {.axis = static_cast<int>(axes[i]), .begin = begins[i], .end = ends[i], .step = steps[i]});
  }
  return ranges;
}

NumberRange clamped_range(std::int64_t begin, std::int64_t end, std::int64_t step,
                          std::int64_t extent) {
  if (begin < 0) begin += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    begin = std::clamp<std::int64_t>(begin, 0, extent);
    end = std::clamp<std::int64_t>(end, 0, extent);
    const std::int64_t length = std::max<std::int64_t>(end - begin, 0);
    return {.begin = begin, .count = length / step + (length % step != 0)};
  }
  if (extent == 0) return {};
  begin = std::clamp<std::int64_t>(begin, 0, extent - 1);
  end = std::clamp<std::int64_t>(end, -1, extent - 1);
  const std::int64_t length = std::max<std::int64_t>(begin - end, 0);
  if (step == std::numeric_limits<std::int64_t>::min())
    return {.begin = begin, .count = length > 0};
  return {.begin = begin, .count = length / -step + (length % -step != 0)};
}

}  // namespace sinter::onnx
