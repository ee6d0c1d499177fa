// Windows over the last axes, written in pad, unfold and reductions.
#include "ir/composite.h"
#include "ir/record.h"
#include "sinter/views.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

/// x padded with `filler`; its windows lie along new last axes, one per pooled axis.
Tensor windows(std::string_view op, const Operand& x, Axes window, Axes stride, Axes padding,
               double filler) {
  graph_of(op, x);
  const std::size_t count = window.size();
  const auto rank = static_cast<std::size_t>(x.tensor.rank());
  if (count == 0 || count > rank || stride.size() != count || padding.size() != count)
    fail(op,
         fmt::format(
             "{} windows, {} strides and {} paddings for {}; give one of each per pooled axis",
             count, stride.size(), padding.size(), type_text(*x.tensor.node())),
         x.location);
  for (std::size_t i = 0; i < count; ++i)
    if (padding[i] < 0 || padding[i] * 2 > window[i])
      fail(op,
           fmt::format("padding {} for a window of {}; it must be at most half of it", padding[i],
                       window[i]),
           x.location);
  AxesVector beside(rank - count, 0);
  beside.append(padding.begin(), padding.end());
  Tensor result =
      pad(x, std::span<const std::int64_t>(beside), std::span<const std::int64_t>(beside), filler);
  for (std::size_t i = 0; i < count; ++i)
    result = unfold(result, static_cast<int>(rank - count + i), window[i], stride[i]);
  return result;
}

AxesVector last_axes(std::size_t count) {
  AxesVector axes;
  for (std::size_t i = count; i > 0; --i) axes.push_back(-static_cast<std::int64_t>(i));
  return axes;
}

}  // namespace

Tensor avg_pool(Operand x, Axes window, Axes stride, Axes padding) {
  const CalledAt place(x);
  const Tensor elements = windows("avg_pool", x, window, stride, padding, 0);
  const AxesVector axes = last_axes(window.size());
  return mean(elements, std::span<const std::int64_t>(axes));
}

Tensor max_pool(Operand x, Axes window, Axes stride, Axes padding) {
  const CalledAt place(x);
  graph_of("max_pool", x);
  if (!is_floating(x.tensor.dtype()))
    fail("max_pool", fmt::format("x is {}; it must be floating", type_text(*x.tensor.node())),
         x.location);
  const Tensor elements =
      windows("max_pool", x, window, stride, padding, -std::numeric_limits<double>::infinity());
  const AxesVector axes = last_axes(window.size());
  return max(elements, std::span<const std::int64_t>(axes));
}

}  // namespace sinter
