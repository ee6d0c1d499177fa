// The oracle for structural ops: copies elements by the definition of each op. It does not share
// code with the index maps from which kernels are generated.
#include "ir/ops/evaluate_op.h"
#include "ir/oracle/interpret_ops.h"
#include "ir/shape/extent.h"
#include "ir/shape/strided_iterator.h"
#include "ir/types/casts.h"
#include "sinter/error.h"

#include <algorithm>
#include <utility>

namespace sinter {

namespace {

using Numbers = std::vector<std::int64_t>;

void copy_element(Expected& to, std::int64_t i, const Expected& from, std::int64_t k) {
  if (is_floating(to.dtype))
    to.reals[static_cast<std::size_t>(i)] = from.reals[static_cast<std::size_t>(k)];
  else
    to.integers[static_cast<std::size_t>(i)] = from.integers[static_cast<std::size_t>(k)];
  if (!to.bounds.empty()) to.bounds[static_cast<std::size_t>(i)] = from.bound(k);
}

/// Element `index` of a view is element base + Σ index · stride of the operand.
struct View {
  std::int64_t base = 0;
  Numbers strides;
};

View view_of(const NodeEvaluation& evaluation) {
  const Node& node = evaluation.node;
  const Numbers& shape = evaluation.operands[0]->shape;
  View view{.strides = row_major(shape)};
  Numbers& strides = view.strides;
  const auto axis = [&] { return static_cast<std::size_t>(attribute(node, "axis").integer); };
  switch (node.op) {
    case Op::permute: {
      const Numbers dense = std::exchange(strides, {});
      for (const std::int64_t from : attribute(node, "axes").integers)
        strides.push_back(dense[static_cast<std::size_t>(from)]);
      return view;
    }
    case Op::broadcast_to: return {.strides = broadcast_strides(shape, evaluation.shape)};
    case Op::slice:
      view.base = evaluate(attribute(node, "begin").extent, evaluation.symbols) * strides[axis()];
      strides[axis()] *= attribute(node, "step").integer;
      return view;
    case Op::flip:
      for (const std::int64_t flipped : attribute(node, "axes").integers) {
        const auto at = static_cast<std::size_t>(flipped);
        view.base += (shape[at] - 1) * strides[at];
        strides[at] = -strides[at];
      }
      return view;
    case Op::as_strided:
      return {.base = evaluate(attribute(node, "offset").extent, evaluation.symbols),
              .strides = evaluate_all(attribute(node, "strides").extents, evaluation.symbols)};
    case Op::unfold:
      strides.push_back(strides[axis()]);
      strides[axis()] *= attribute(node, "step").integer;
      return view;
    default: throw InternalError("interpret: unknown structural op");
  }
}

void copy_view(Expected& result, const Expected& from, const View& view) {
  if (result.size() == 0) return;
  StridedIterator iterator(result.shape, {view.strides});
  for (std::int64_t i = 0; i < result.size(); ++i, iterator.next())
    copy_element(result, i, from, view.base + iterator.offset(0));
}

void concat_into(Expected& result, std::span<const Expected* const> parts, std::size_t axis) {
  const Numbers strides = row_major(result.shape);
  std::int64_t begin = 0;
  for (const Expected* part : parts) {
    StridedIterator iterator(part->shape, {strides});
    for (std::int64_t i = 0; i < part->size(); ++i, iterator.next())
      copy_element(result, begin * strides[axis] + iterator.offset(0), *part, i);
    begin += part->shape[axis];
  }
}

/// A negative index counts from the end; an index out of range is clamped.
std::int64_t resolve_index(std::int64_t index, std::int64_t extent) {
  if (index < 0) index += extent;
  return std::clamp<std::int64_t>(index, 0, extent - 1);
}

/// Reads each result element from `from`, at an index along `axis` read from `indices`. `strides`
/// are the strides of `from` along the axes of the result; 0 for axes that only select an index.
void gather(Expected& result, const Expected& from, const Expected& indices, std::size_t axis,
            const Numbers& strides, const Numbers& index_strides) {
  if (result.size() == 0) return;
  const std::int64_t extent = from.shape[axis];
  const std::int64_t step = row_major(from.shape)[axis];
  StridedIterator iterator(result.shape, {strides, index_strides});
  for (std::int64_t i = 0; i < result.size(); ++i, iterator.next()) {
    const std::int64_t chosen = indices.integers[static_cast<std::size_t>(iterator.offset(1))];
    copy_element(result, i, from, iterator.offset(0) + resolve_index(chosen, extent) * step);
    if (indices.is_undecided(iterator.offset(1)))
      result.bounds[static_cast<std::size_t>(i)] = kUndecided;
  }
}

/// The axes of the result are x's axes before `axis`, the axes of the indices, and x's axes after
/// it.
void take_into(Expected& result, const Expected& x, const Expected& indices, std::size_t axis) {
  const Numbers dense = row_major(x.shape);
  const Numbers index_dense = row_major(indices.shape);
  const auto split = static_cast<std::ptrdiff_t>(axis);
  Numbers strides(dense.begin(), dense.begin() + split);
  strides.resize(axis + index_dense.size(), 0);
  strides.insert(strides.end(), dense.begin() + split + 1, dense.end());
  Numbers index_strides(axis, 0);
  index_strides.insert(index_strides.end(), index_dense.begin(), index_dense.end());
  index_strides.resize(strides.size(), 0);
  gather(result, x, indices, axis, strides, index_strides);
}

void take_along_axis_into(Expected& result, const Expected& x, const Expected& indices,
                          std::size_t axis) {
  Numbers strides = row_major(x.shape);
  strides[axis] = 0;
  gather(result, x, indices, axis, strides, row_major(indices.shape));
}

/// to[i] += from[k], rounded once; the new bound covers both bounds and the rounding.
void add_element(Expected& to, std::int64_t i, const Expected& from, std::int64_t k) {
  const auto at = static_cast<std::size_t>(i);
  if (!is_floating(to.dtype)) {
    to.integers[at] = to_storage_bits(wrap_to(to.dtype, to.wide(i) + from.wide(k)));
    if (from.bound(k) != 0) to.bounds[at] = kUndecided;
    return;
  }
  const long double operands[] = {to.reals[at], from.reals[static_cast<std::size_t>(k)]};
  const double bound = to.bound(i) + from.bound(k);
  if (bound == 0)
    to.reals[at] = evaluate(info(Op::add), operands, to.dtype);
  else
    set_element(to, at, round_within(to.dtype, operands[0] + operands[1], bound));
}

void scatter_into(Expected& result, const Expected& x, const Expected& indices,
                  const Expected& source, bool accumulate) {
  for (std::int64_t i = 0; i < result.size(); ++i) copy_element(result, i, x, i);
  const std::int64_t rows = x.shape[0];
  const std::int64_t columns = x.shape[1];
  for (std::int64_t k = 0; k < indices.size(); ++k) {
    if (indices.is_undecided(k)) {
      // The undecided index may be any row, or none.
      std::ranges::fill(result.bounds, kUndecided);
      return;
    }
    const Wide row = indices.wide(k);
    if (row < 0 || row >= rows) continue;
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t to = static_cast<std::int64_t>(row) * columns + column;
      const std::int64_t from = k * columns + column;
      if (accumulate)
        add_element(result, to, source, from);
      else
        copy_element(result, to, source, from);
    }
  }
}

}  // namespace

Expected interpret_structural(const NodeEvaluation& evaluation) {
  const Node& node = evaluation.node;
  const std::span<const Expected* const> operands = evaluation.operands;
  Expected result = make_expected(node.dtype, evaluation.shape, has_bounds(operands));
  const auto axis = [&] { return static_cast<std::size_t>(attribute(node, "axis").integer); };
  const Expected& x = *operands[0];
  switch (node.op) {
    case Op::reshape:
      result.reals = x.reals;
      result.integers = x.integers;
      result.bounds = x.bounds;
      break;
    case Op::concat: concat_into(result, operands, axis()); break;
    case Op::scatter:
      scatter_into(result, x, *operands[1], *operands[2],
                   attribute(node, "accumulate").integer != 0);
      break;
    case Op::take: take_into(result, x, *operands[1], axis()); break;
    case Op::take_along_axis: take_along_axis_into(result, x, *operands[1], axis()); break;
    default: copy_view(result, x, view_of(evaluation));
  }
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
