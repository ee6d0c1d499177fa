// Checks and index arithmetic of reads and writes at indices.
#include "ir/record/index_operands.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

Tensor axis_indices(GraphData& data, Extent extent, Location location) {
  const Attribute attributes[] = {
      {.extent = extent}, {.integer = 0}, {.integer = 1}, {.dtype = i64}};
  return record_node(data, Op::iota, i64, {}, {&extent, 1}, attributes, location);
}

Tensor resolve_indices(Tensor indices, Extent extent, Location location) {
  GraphData& data = *indices.graph();
  const Tensor size = record_size(data, extent, i64, location);
  const Tensor wide = cast(indices, i64);
  const Tensor is_from_end = lt(wide, 0);
  const Tensor wrapped = where(is_from_end, wide + size, wide);
  const Tensor last = size - 1;
  return minimum(maximum(wrapped, 0), last);
}

bool are_adjacent(const AxesVector& axes, std::int64_t& first) {
  const auto [low, high] = std::ranges::minmax(axes);
  first = low;
  return high - low + 1 == static_cast<std::int64_t>(axes.size());
}

AxesVector checked_index_axes(std::string_view op, const Operand& x,
                              std::span<const Operand> indices, Axes axes) {
  graph_of(op, x);
  const Node& node = *x.tensor.node();
  if (indices.empty() || indices.size() != axes.size())
    fail(
        op,
        fmt::format("{} index Tensors for {} axes; give one for each", indices.size(), axes.size()),
        x.location);
  const AxesVector checked = checked_axes(op, axes, node, x.location);
  for (const Operand& i : indices)
    if (i.is_literal() || !is_integer(i.tensor.dtype()))
      fail(op,
           i.is_literal() ? std::string("an index is a number; use select")
                          : fmt::format("the indices are {}; they must be integers",
                                        type_text(*i.tensor.node())),
           x.location);
  return checked;
}

Tensor linear_index(const Operand& x, std::span<const Operand> indices, const AxesVector& axes) {
  const Node& node = *x.tensor.node();
  Tensor position;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Extent extent = node.shape[static_cast<std::size_t>(axes[i])];
    const Tensor inside = resolve_indices(indices[i].tensor, extent, x.location);
    if (i == 0) {
      position = inside;
      continue;
    }
    const Tensor size = record_size(*x.tensor.graph(), extent, i64, x.location);
    const Tensor scaled = position * size;
    position = scaled + inside;
  }
  return position;
}

}  // namespace sinter
