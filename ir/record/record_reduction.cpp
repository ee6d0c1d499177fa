// Recording reductions: axes are checked and the order of the reduction tree is fixed here.
#include <fmt/format.h>

#include <algorithm>

#include "ir/graph/operand_index.h"
#include "ir/record/composite.h"
#include "ir/record/record.h"

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

/// `order` as a node keeps it: empty for ascending.
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

ShapeVector reduced_shape(const Node& x, std::span<const std::int64_t> axes, Keep kept) {
  ShapeVector shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end())
      shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    else if (kept == Keep::yes)
      shape.push_back(1);
  }
  return shape;
}

Tensor record_reduction(Op op, const Operand& x, std::span<const std::int64_t> axes,
                        const ReductionOptions& options) {
  const OpInfo& row = info(op);
  GraphData& graph = graph_of(row.name, x);
  const Node* node = x.tensor.node();
  if (node->dtype == c64)
    fail(row.name, fmt::format("{} is for storage only; cast it", type_text(*node)), x.location);
  if (row.types == TypeRule::Float && !is_floating(node->dtype)) node = cast(x, f32).node();
  if (row.types == TypeRule::Logical) node = cast(x, boolean).node();
  const AxesVector checked = checked_axes(row.name, *node, axes, x.location);
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
  return tensor(graph, graph.make({.op = op,
                                   .dtype = reduction_result(op, node->dtype),
                                   .operands = {&node, 1},
                                   .shape = shape,
                                   .attributes = attributes},
                                  x.location));
}

Tensor sum(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::sum, x, axes, {.keep = kept});
}
Tensor prod(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::prod, x, axes, {.keep = kept});
}
Tensor any(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::any, x, axes, {.keep = kept});
}
Tensor all(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::all, x, axes, {.keep = kept});
}
Tensor max(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::max, x, axes, {.keep = kept});
}
Tensor min(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::min, x, axes, {.keep = kept});
}
Tensor mean(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::mean, x, axes, {.keep = kept});
}
Tensor var(Operand x, Axes axes, int correction, Keep kept) {
  return record_reduction(Op::var, x, axes, {.keep = kept, .correction = correction});
}
Tensor logsumexp(Operand x, Axes axes, Keep kept) {
  return record_reduction(Op::logsumexp, x, axes, {.keep = kept});
}

namespace {

/// The place of an extreme. Over several axes: of x with these behind the others, in one.
Tensor place_of(Op op, const Operand& x, Axes axes, Keep kept) {
  const std::string_view name = info(op).name;
  graph_of(name, x);
  const Node& node = *x.tensor.node();
  const AxesVector over = checked_axes(name, node, axes, x.location);
  if (over.size() == 1) return record_reduction(op, x, over, {.keep = kept});
  const LocationScope place(x);
  AxesVector order;
  for (int axis = 0; axis < node.rank(); ++axis)
    if (std::ranges::find(over, axis) == over.end()) order.push_back(axis);
  ShapeVector flat = reduced_shape(node, over, Keep::no);
  const ShapeVector result = reduced_shape(node, over, kept);
  Extent count = 1;
  for (const std::int64_t axis : over) {
    order.push_back(axis);
    count = count * node.shape[static_cast<std::size_t>(axis)];
  }
  flat.push_back(count);
  const Tensor ordered = permute(x, std::span<const std::int64_t>(order));
  const Tensor rows = reshape(ordered, std::span<const Extent>(flat));
  const std::int64_t last[] = {-1};
  const Tensor index = record_reduction(op, rows, last, {});
  return reshape(index, std::span<const Extent>(result));
}

}  // namespace

Tensor argmax(Operand x, Axes axes, Keep kept) { return place_of(Op::argmax, x, axes, kept); }
Tensor argmin(Operand x, Axes axes, Keep kept) { return place_of(Op::argmin, x, axes, kept); }
WithIndex max_with_index(Operand x, Axes axes, Keep kept) {
  return {.value = max(x, axes, kept), .index = argmax(x, axes, kept)};
}
WithIndex min_with_index(Operand x, Axes axes, Keep kept) {
  return {.value = min(x, axes, kept), .index = argmin(x, axes, kept)};
}

VarMean var_mean(Operand x, Axes axes, int correction, Keep kept) {
  return {.var = var(x, axes, correction, kept), .mean = mean(x, axes, kept)};
}

}  // namespace sinter
