// Operators that write elements at indices. Negative indices count from the end.
#include "sinter/views.h"
#include "tools/onnx/node/limits.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// How several updates of one element combine with it and with one another.
struct ScatterReduction {
  std::string_view name;
  Literal (*neutral)(DType) = nullptr;
  Tensor (*reduce)(Operand, Axes, Keep) = nullptr;
  Tensor (*combine)(Operand, Operand) = nullptr;
};

constexpr ScatterReduction kScatterReductions[] = {
    {"max", lowest_value, max, maximum},
    {"min", highest_value, min, minimum},
    {"mul", [](DType dtype) { return number_of_dtype(1, dtype); }, prod, mul},
};

const ScatterReduction* find_reduction(const std::string& name) {
  const auto* const found = std::ranges::find(kScatterReductions, name, &ScatterReduction::name);
  if (found != std::end(kScatterReductions)) return found;
  if (name == "none" || name == "add") return nullptr;
  refuse(fmt::format("reduction is '{}'; it must be none, add, mul, max or min", name));
}

/// x combined with the updates whose index along `axis` is the position of the element. Every
/// element is compared with all indices of its line.
Tensor combine_lines(const Call& call, const Tensor& x, const Tensor& indices,
                     const Tensor& updates, int axis, const ScatterReduction& how) {
  const Tensor at = unsqueeze(indices, axis);
  const Tensor sources = unsqueeze(updates, axis);
  const Tensor position = unsqueeze(positions_along(call, x, axis), axis + 1);
  const Operand neutral(how.neutral(x.dtype()), Location{});
  const Tensor chosen = where(eq(at, position), sources, neutral);
  const Tensor update = cast(how.reduce(chosen, {axis + 1}, Keep::no), x.dtype());
  return how.combine(x, update);
}

std::string reduction_of(const Call& call) { return call.attributes().text("reduction", "none"); }

Outputs record_scatter_elements(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor x = call.tensor(0);
  const Tensor updates = call.tensor(2);
  const int axis = checked_axis(call.attributes().integer("axis", 0), x.rank());
  const Tensor indices =
      from_front(call, call.tensor(1), x.shape()[static_cast<std::size_t>(axis)]);
  if (indices.rank() != x.rank() || !std::ranges::equal(indices.shape(), updates.shape()))
    refuse("its indices and updates must have one shape, and the rank of its input");
  const std::string reduction = reduction_of(call);
  if (const ScatterReduction* how = find_reduction(reduction)) {
    for (int other = 0; other < x.rank(); ++other)
      if (other != axis && !(x.shape()[static_cast<std::size_t>(other)] ==
                             indices.shape()[static_cast<std::size_t>(other)]))
        refuse(
            fmt::format("reduction is '{}', and axis {} of the indices is shorter than that of "
                        "the input; sinter imports this for reductions none and add only",
                        reduction, other));
    return {combine_lines(call, x, indices, updates, axis, *how)};
  }
  std::vector<Tensor> positions;
  std::vector<std::int64_t> axes;
  for (int other = 0; other < x.rank(); ++other) {
    positions.push_back(other == axis ? indices : positions_along(call, indices, other));
    axes.push_back(other);
  }
  return {index_put(x, updates, positions, axes, reduction == "add")};
}

Outputs record_scatter_nd(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor x = call.tensor(0);
  const Tensor indices = call.tensor(1);
  const Tensor updates = call.tensor(2);
  if (indices.rank() == 0 || !indices.shape().back().is_number())
    refuse("the last axis of its indices must have a fixed extent");
  const std::int64_t count = indices.shape().back().number();
  if (count < 1 || count > x.rank())
    refuse(fmt::format("the last axis of its indices is {}, for an input of rank {}", count,
                       x.rank()));
  std::vector<Tensor> positions;
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < count; ++i) {
    const Extent extent = x.shape()[static_cast<std::size_t>(i)];
    positions.push_back(from_front(call, select(indices, -1, i), extent));
    axes.push_back(i);
  }
  const std::string reduction = reduction_of(call);
  const ScatterReduction* const how = find_reduction(reduction);
  if (!how) return {index_put(x, updates, positions, axes, reduction == "add")};

  // Rows of the elements that one index names, and the number of the row for each index.
  Extent rows = 1;
  Extent columns = 1;
  Extent updated = 1;
  Tensor row;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
    if (axis >= count) {
      columns = columns * extent;
      continue;
    }
    rows = rows * extent;
    const Tensor& position = positions[static_cast<std::size_t>(axis)];
    row = row.node() ? row * call.size_value(extent) + position : position;
  }
  for (const Extent extent : row.shape()) updated = updated * extent;
  const Tensor result = combine_lines(call, reshape(x, {rows, columns}), reshape(row, {updated, 1}),
                                      reshape(updates, {updated, columns}), 0, *how);
  return {reshape(result, x.shape())};
}

constexpr OpRow kScatters[] = {
    {"Scatter", record_scatter_elements},
    {"ScatterElements", record_scatter_elements},
    {"ScatterND", record_scatter_nd},
};

}  // namespace

std::span<const OpRow> scatter_ops() { return kScatters; }

}  // namespace sinter::onnx
