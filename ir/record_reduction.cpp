// Recording reductions: axes are checked and the order of the reduction tree is fixed here.
#include <fmt/format.h>

#include <algorithm>

#include "ir/record.h"
#include "ir/structural.h"

namespace sinter {

namespace {

AxesVector checked_axes(std::string_view op, const Node& x, std::span<const std::int64_t> axes,
                        Location location) {
  AxesVector result;
  if (axes.empty())
    for (int axis = 0; axis < x.rank(); ++axis) result.push_back(axis);
  for (const std::int64_t axis : axes) {
    const std::int64_t checked = checked_axis(op, axis, x, location);
    if (std::ranges::find(result, checked) != result.end())
      fail(op, fmt::format("axis {} stands twice in [{}]", axis, fmt::join(axes, ", ")), location);
    result.push_back(checked);
  }
  std::ranges::sort(result);
  return result;
}

ShapeVector reduced_shape(const Node& x, std::span<const std::int64_t> axes, Keep keep) {
  ShapeVector shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end())
      shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    else if (keep == Keep::yes)
      shape.push_back(1);
  }
  return shape;
}

Tensor reduce(Op op, const Operand& x, std::span<const std::int64_t> axes, Keep keep,
              std::optional<int> correction = {}) {
  const OpInfo& row = info(op);
  GraphData& graph = graph_of(row.name, x);
  const Node* node = x.tensor.node();
  if (row.types == TypeRule::Float && !is_floating(node->dtype))
    fail(row.name, fmt::format("wants a floating operand, not {}; cast it", type_text(*node)),
         x.location);
  const AxesVector checked = checked_axes(row.name, *node, axes, x.location);
  if (op == Op::argmax && node->shape[static_cast<std::size_t>(checked[0])].is(0))
    fail(row.name, fmt::format("axis {} of {} is empty and has no largest element", checked[0],
                               type_text(*node)),
         x.location);
  const ShapeVector shape = reduced_shape(*node, checked, keep);
  const AxesVector order = tree_order(*node, checked);
  llvm::SmallVector<Attribute, 4> attributes;
  if (op == Op::argmax)
    attributes.push_back({.integer = checked[0]});
  else
    attributes.push_back({.integers = checked});
  if (correction) attributes.push_back({.integer = *correction});
  attributes.push_back({.integer = keep == Keep::yes});
  if (op != Op::argmax) attributes.push_back({.integers = order});
  DType dtype = node->dtype;
  if (op == Op::argmax || (op == Op::sum && !is_floating(dtype))) dtype = i64;
  return tensor(graph, graph.make({.op = op,
                                   .dtype = dtype,
                                   .operands = {&node, 1},
                                   .shape = shape,
                                   .attributes = attributes},
                                  x.location));
}

}  // namespace

Tensor sum(Operand x, Axes axes, Keep keep) { return reduce(Op::sum, x, axes, keep); }
Tensor max(Operand x, Axes axes, Keep keep) { return reduce(Op::max, x, axes, keep); }
Tensor min(Operand x, Axes axes, Keep keep) { return reduce(Op::min, x, axes, keep); }
Tensor mean(Operand x, Axes axes, Keep keep) { return reduce(Op::mean, x, axes, keep); }
Tensor var(Operand x, Axes axes, int correction, Keep keep) {
  return reduce(Op::var, x, axes, keep, correction);
}
Tensor argmax(Operand x, int axis, Keep keep) {
  const std::int64_t axes[] = {axis};
  return reduce(Op::argmax, x, axes, keep);
}

VarMean var_mean(Operand x, Axes axes, int correction, Keep keep) {
  return {.var = var(x, axes, correction, keep), .mean = mean(x, axes, keep)};
}

}  // namespace sinter
