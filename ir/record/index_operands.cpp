// Checks and index arithmetic of reads and writes at indices.
#include "ir/record/index_operands.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

Tensor axis_indices(GraphData& data, Extent extent, Location location, std::int64_t first,
                    std::int64_t step) {
  const Attribute attributes[] = {
      {.extent = extent}, {.integer = first}, {.integer = step}, {.dtype = i64}};
  return record_node(data, Op::iota, i64, {}, {&extent, 1}, attributes, location);
}

Tensor indices_along(GraphData& data, std::span<const Extent> shape, std::size_t axis,
                     Location location) {
  ShapeVector along(shape.size(), Extent(1));
  along[axis] = shape[axis];
  return reshape(axis_indices(data, shape[axis], location), along);
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

Tensor permute_back(Tensor permuted, std::span<const std::int64_t> axes) {
  AxesVector back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return permute(permuted, back);
}

std::int64_t first_index_axis(const AxesVector& axes) {
  const auto [low, high] = std::ranges::minmax(axes);
  return high - low + 1 == static_cast<std::int64_t>(axes.size()) ? low : 0;
}

AxesVector checked_index_axes(std::string_view op, const Operand& x,
                              std::span<const Operand> indices, Axes axes) {
  const Node& node = node_of(op, x);
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
