// Recording of reductions: checks axes, and fixes the order of the reduction tree.
#include <fmt/format.h>

#include <algorithm>

#include "ir/graph/operand_index.h"
#include "ir/record/composite.h"
#include "ir/record/record.h"

namespace sinter {

AxesVector axes_to_reduce(std::string_view op, const Node& x, std::span<const std::int64_t> axes,
                          Location location) {
  AxesVector result = checked_axes(op, axes, x, location);
  if (axes.empty())
    for (int axis = 0; axis < x.rank(); ++axis) result.push_back(axis);
  std::ranges::sort(result);
  return result;
}

namespace {

/// `order` as stored in a node: empty if ascending.
AxesVector checked_order(std::string_view op, const Node& x, std::span<const std::int64_t> order,
                         std::span<const std::int64_t> axes, Location location) {
  AxesVector result;
  for (const std::int64_t axis : order) result.push_back(checked_axis(op, axis, x, location));
  AxesVector sorted = result;
  std::ranges::sort(sorted);
  if (!order.empty() && !std::ranges::equal(sorted, axes))
    fail(op,
         fmt::format("the order [{}] must name the axes [{}], each once", fmt::join(order, ", "),
                     fmt::join(axes, ", ")),
         location);
  if (std::ranges::is_sorted(result)) result.clear();
  return result;
}

}  // namespace

ShapeVector reduced_shape(const Node& x, std::span<const std::int64_t> axes, Keep keep_axes) {
  ShapeVector shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end())
      shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    else if (keep_axes == Keep::yes)
      shape.push_back(1);
  }
  return shape;
}

Tensor record_reduction(Op op, const Operand& x, std::span<const std::int64_t> axes,
                        const ReductionOptions& options) {
  const OpInfo& row = info(op);
  const Node* node = &node_of(row.name, x);
  if (node->dtype == c64)
    fail(row.name, fmt::format("{} is for storage only; cast it", type_text(*node)), x.location);
  if (row.types == TypeRule::Float && !is_floating(node->dtype)) node = cast(x, f32).node();
  if (row.types == TypeRule::Logical) node = cast(x, boolean).node();
  const AxesVector checked = axes_to_reduce(row.name, *node, axes, x.location);
  if (gives_index(op) && node->shape[static_cast<std::size_t>(checked[0])].is(0))
    fail(row.name,
         fmt::format("axis {} of {} is empty and has no {} element", checked[0], type_text(*node),
                     op == Op::argmax ? "largest" : "smallest"),
         x.location);
  const ShapeVector shape = reduced_shape(*node, checked, options.keep);
  const AxesVector order = options.order
                               ? checked_order(row.name, *node, *options.order, checked, x.location)
                               : tree_order(*node, checked);
  llvm::SmallVector<Attribute, 4> attributes;
  if (gives_index(op))
    attributes.push_back({.integer = checked[0]});
  else
    attributes.push_back({.integers = checked});
  if (options.correction) attributes.push_back({.integer = *options.correction});
  attributes.push_back({.integer = options.keep == Keep::yes});
  if (!gives_index(op)) attributes.push_back({.integers = order});
  return record_node(*x.tensor.graph(), op, reduction_result(op, node->dtype), {&node, 1}, shape,
                     attributes, x.location);
}

Tensor sum(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::sum, x, axes, {.keep = keep_axes});
}
Tensor prod(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::prod, x, axes, {.keep = keep_axes});
}
Tensor any(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::any, x, axes, {.keep = keep_axes});
}
Tensor all(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::all, x, axes, {.keep = keep_axes});
}
Tensor max(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::max, x, axes, {.keep = keep_axes});
}
Tensor min(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::min, x, axes, {.keep = keep_axes});
}
Tensor mean(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::mean, x, axes, {.keep = keep_axes});
}
Tensor var(Operand x, Axes axes, int correction, Keep keep_axes) {
  return record_reduction(Op::var, x, axes, {.keep = keep_axes, .correction = correction});
}
Tensor logsumexp(Operand x, Axes axes, Keep keep_axes) {
  return record_reduction(Op::logsumexp, x, axes, {.keep = keep_axes});
}

namespace {

/// The index of an extreme. Several axes are first moved to the end and merged into one axis.
Tensor record_index_of_extreme(Op op, const Operand& x, Axes axes, Keep keep_axes) {
  const std::string_view name = info(op).name;
  const Node& node = node_of(name, x);
  const AxesVector over = axes_to_reduce(name, node, axes, x.location);
  if (over.size() == 1) return record_reduction(op, x, over, {.keep = keep_axes});
  const LocationScope scope(x);
  AxesVector order = other_axes(node, over);
  order.append(over);
  ShapeVector flat = reduced_shape(node, over, Keep::no);
  flat.push_back(extent_of_axes(node, over));
  const Tensor ordered = permute(x, order);
  const Tensor rows = reshape(ordered, flat);
  const std::int64_t last[] = {-1};
  const Tensor index = record_reduction(op, rows, last, {});
  return reshape(index, reduced_shape(node, over, keep_axes));
}

}  // namespace

Tensor argmax(Operand x, Axes axes, Keep keep_axes) {
  return record_index_of_extreme(Op::argmax, x, axes, keep_axes);
}
Tensor argmin(Operand x, Axes axes, Keep keep_axes) {
  return record_index_of_extreme(Op::argmin, x, axes, keep_axes);
}
WithIndex max_with_index(Operand x, Axes axes, Keep keep_axes) {
  return {.value = max(x, axes, keep_axes), .index = argmax(x, axes, keep_axes)};
}
WithIndex min_with_index(Operand x, Axes axes, Keep keep_axes) {
  return {.value = min(x, axes, keep_axes), .index = argmin(x, axes, keep_axes)};
}

VarMean var_mean(Operand x, Axes axes, int correction, Keep keep_axes) {
  return {.var = var(x, axes, correction, keep_axes), .mean = mean(x, axes, keep_axes)};
}

}  // namespace sinter
