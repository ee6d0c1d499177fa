// Records scatter, and the indexed writes composed from it.
#include "ir/record/composite.h"
#include "ir/record/index_operands.h"
#include "sinter/views.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace sinter {

Tensor scatter(Operand x, Operand indices, Operand source, bool accumulate) {
  const Operand* const all[] = {&x, &indices, &source};
  GraphData& graph = graph_of("scatter", OperandRefs(all));
  for (const Operand* operand : all)
    if (operand->is_literal())
      fail("scatter", "an operand is a number; record it with full", x.location);
  const Node* const nodes[] = {x.tensor.node(), indices.tensor.node(), source.tensor.node()};
  const bool fits = nodes[0]->rank() == 2 && nodes[1]->rank() == 1 && nodes[2]->rank() == 2 &&
                    nodes[2]->shape[0] == nodes[1]->shape[0] &&
                    nodes[2]->shape[1] == nodes[0]->shape[1];
  if (!fits || nodes[2]->dtype != nodes[0]->dtype || !is_integer(nodes[1]->dtype))
    fail(
        "scatter",
        fmt::format("{}, {} and {} do not fit; they must be [n, m], integers [k] and [k, m] of x's "
                    "dtype",
                    type_text(*nodes[0]), type_text(*nodes[1]), type_text(*nodes[2])),
        x.location);
  if (accumulate && !can_accumulate(nodes[0]->dtype))
    fail("scatter",
         fmt::format("x is {}, which would round every sum; cast it to f32", type_text(*nodes[0])),
         x.location);
  const Attribute attribute = {.integer = accumulate};
  return record_node(graph, Op::scatter, nodes[0]->dtype, nodes, nodes[0]->shape, {&attribute, 1},
                     x.location);
}

namespace {

/// scatter, with `accumulate` in a wider dtype if the dtype of `rows` would round every sum.
Tensor scattered(Tensor rows, Tensor position, Tensor source, bool accumulate) {
  const DType dtype = rows.dtype();
  if (!accumulate) return scatter(rows, position, source, false);
  if (can_accumulate(dtype)) return scatter(rows, position, source, true);
  const DType wide = dtype == boolean ? i32 : info(dtype).compute;
  const Tensor base = cast(rows, wide);
  const Tensor added = cast(source, wide);
  return cast(scatter(base, position, added, true), dtype);
}

/// The neutral element of addition.
Literal neutral(DType dtype) { return is_floating(dtype) ? Literal::of(-0.0) : Literal::of(0); }

/// True if `mask`, aligned at the right, does not vary along the last `count` axes.
bool is_per_index(const Operand& mask, std::size_t count) {
  if (mask.is_literal()) return true;
  const std::span<const Extent> shape = mask.tensor.node()->shape;
  for (std::size_t i = 1; i <= std::min(count, shape.size()); ++i)
    if (!shape[shape.size() - i].is(1)) return false;
  return true;
}

}  // namespace

Tensor index_put(Operand x, Operand values, std::span<const Operand> indices, Axes axes,
                 bool accumulate, std::optional<Operand> mask) {
  const LocationScope scope(x);
  GraphData& data = graph_of("index_put", x);
  const Node& node = *x.tensor.node();
  const AxesVector checked = checked_index_axes("index_put", x, indices, axes);

  // Reshapes x to two axes: the merged indexed axes, then the merged other axes.
  AxesVector order = checked;
  order.append(other_axes(node, checked));
  const ShapeVector rest = reduced_shape(node, checked, Keep::no);
  const Tensor position = linear_index(x, indices, checked);
  const ShapeVector index_shape(position.shape().begin(), position.shape().end());
  const Extent rows = extent_of_axes(node, checked);
  const Extent columns = product(rest);
  const Extent count = product(index_shape);
  const Tensor indexed_first = permute(x, order);
  const Tensor flat = reshape(indexed_first, {rows, columns});

  // The values have the shape that `index` returns. Their index axes move to the front.
  const std::int64_t first = first_index_axis(checked);
  ShapeVector value_shape(rest.begin(), rest.begin() + first);
  value_shape.append(index_shape.begin(), index_shape.end());
  value_shape.append(rest.begin() + first, rest.end());
  AxesVector to_front(value_shape.size());
  std::iota(to_front.begin(), to_front.end(), 0);
  std::rotate(to_front.begin(), to_front.begin() + first,
              to_front.begin() + first + static_cast<std::ptrdiff_t>(index_shape.size()));
  const auto as_rows = [&](Tensor value) {
    const Tensor filled = broadcast_to(value, value_shape);
    const Tensor permuted = permute(filled, to_front);
    return reshape(permuted, {count, columns});
  };
  Tensor source = as_rows(as_tensor("index_put", data, values, node.dtype));
  Tensor target = reshape(cast(position, i64), {count});

  if (mask && first == 0 && is_per_index(*mask, rest.size())) {
    const Tensor holds = as_tensor("index_put", data, *mask, boolean);
    ShapeVector per_index = index_shape;
    per_index.append(rest.size(), Extent(1));
    const Tensor filled = broadcast_to(holds, per_index);
    target = where(reshape(filled, {count}), target, -1);
    mask.reset();
  }
  Tensor written;
  if (!mask || accumulate) {
    if (mask) {
      const Tensor holds = as_rows(as_tensor("index_put", data, *mask, boolean));
      source = where(holds, source, Operand(neutral(node.dtype), x.location));
    }
    written = scattered(flat, target, source, accumulate);
  } else {
    // The mask varies within a row, so elements are scattered instead of rows.
    const Tensor holds = as_rows(as_tensor("index_put", data, *mask, boolean));
    const Tensor width = record_size(data, columns, i64, x.location);
    const Tensor begin = unsqueeze(target * width, 1);
    const Tensor element = begin + axis_indices(data, columns, x.location);
    const Tensor chosen = where(holds, element, -1);
    const Extent all = count * columns;
    const Tensor elements = reshape(flat, {rows * columns, 1});
    const Tensor one_by_one =
        scatter(elements, reshape(chosen, {all}), reshape(source, {all, 1}), false);
    written = reshape(one_by_one, {rows, columns});
  }

  return permute_back(reshape(written, indexed_first.shape()), order);
}

Tensor index_put(Operand x, Operand values, std::initializer_list<Operand> indices, Axes axes,
                 bool accumulate, std::optional<Operand> mask) {
  return index_put(x, values, std::span<const Operand>(indices.begin(), indices.size()), axes,
                   accumulate, mask);
}

Tensor index_put(Operand x, Operand values, std::span<const Tensor> indices, Axes axes,
                 bool accumulate, std::optional<Operand> mask) {
  return index_put(x, values, operands_of(indices, x.location), axes, accumulate, mask);
}

Tensor scatter_add(Operand x, int axis, Operand indices, Operand source) {
  const LocationScope scope(x);
  const Operand* const all[] = {&x, &indices, &source};
  GraphData& data = graph_of("scatter_add", OperandRefs(all));
  if (x.is_literal() || indices.is_literal() || source.is_literal())
    fail("scatter_add", "an operand is a number; record it with full", x.location);
  const Node& node = *x.tensor.node();
  const auto at = static_cast<std::size_t>(checked_axis("scatter_add", axis, node, x.location));
  const std::span<const Extent> shape = indices.tensor.node()->shape;
  bool fits = shape.size() == node.shape.size() &&
              std::ranges::equal(shape, source.tensor.shape()) &&
              is_integer(indices.tensor.dtype());
  for (std::size_t i = 0; fits && i < shape.size(); ++i)
    fits = i == at || !provably_less(node.shape[i], shape[i]);
  if (!fits)
    fail(
        "scatter_add",
        fmt::format("{}, {} and {} do not fit along axis {}; indices and source need one shape, in "
                    "every other axis at most that of x",
                    type_text(node), type_text(*indices.tensor.node()),
                    type_text(*source.tensor.node()), at),
        x.location);
  // The row-major position in x of each element of the source.
  Tensor position;
  Extent stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const Tensor along = i == at ? resolve_indices(indices.tensor, node.shape[i], x.location)
                                 : indices_along(data, shape, i, x.location);
    const Tensor step = record_size(data, stride, i64, x.location);
    const Tensor part = stride.is(1) ? along : along * step;
    position = position.node() ? position + part : part;
    stride = stride * node.shape[i];
  }
  const Extent count = product(shape);
  const Tensor filled = broadcast_to(position, shape);
  const Tensor elements = reshape(x, {product(node.shape), 1});
  const Tensor added = reshape(cast(source, node.dtype), {count, 1});
  return reshape(scattered(elements, reshape(filled, {count}), added, true), node.shape);
}

}  // namespace sinter
