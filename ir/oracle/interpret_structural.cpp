// The oracle for structural ops: elements copied from place to place, straight from each op's
// definition. It shares nothing with the index maps that kernels are made from.
#include "ir/ops/evaluate_op.h"
#include "ir/oracle/interpret_ops.h"
#include "ir/shape/evaluate_extents.h"
#include "ir/shape/strided_walk.h"
#include "ir/types/rounding.h"
#include "sinter/error.h"

#include <algorithm>
#include <cmath>

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

/// result[index] = from[base + Σ index · stride] for every index of the result.
void copy_strided(Expected& result, const Expected& from, std::int64_t base,
                  const Numbers& strides) {
  if (result.size() == 0) return;
  StridedWalk walk(result.shape, {strides});
  for (std::int64_t i = 0; i < result.size(); ++i, walk.next())
    copy_element(result, i, from, base + walk.offset(0));
}

void broadcast(Expected& result, const Expected& from) {
  const Numbers dense = row_major(from.shape);
  Numbers strides(result.shape.size());
  const std::size_t new_axes = strides.size() - dense.size();
  for (std::size_t axis = 0; axis < dense.size(); ++axis)
    strides[new_axes + axis] = from.shape[axis] == 1 ? 0 : dense[axis];
  copy_strided(result, from, 0, strides);
}

void permute_into(Expected& result, const Expected& from, std::span<const std::int64_t> axes) {
  const Numbers dense = row_major(from.shape);
  Numbers strides;
  for (const std::int64_t axis : axes) strides.push_back(dense[static_cast<std::size_t>(axis)]);
  copy_strided(result, from, 0, strides);
}

void slice_into(Expected& result, const Expected& from, std::size_t axis, std::int64_t begin,
                std::int64_t step) {
  Numbers strides = row_major(from.shape);
  const std::int64_t base = begin * strides[axis];
  strides[axis] *= step;
  copy_strided(result, from, base, strides);
}

void flip_into(Expected& result, const Expected& from, std::span<const std::int64_t> axes) {
  if (result.size() == 0) return;
  Numbers strides = row_major(from.shape);
  std::int64_t base = 0;
  for (const std::int64_t axis : axes) {
    const auto place = static_cast<std::size_t>(axis);
    base += (from.shape[place] - 1) * strides[place];
    strides[place] = -strides[place];
  }
  copy_strided(result, from, base, strides);
}

void unfold_into(Expected& result, const Expected& from, std::size_t axis, std::int64_t step) {
  Numbers strides = row_major(from.shape);
  strides.push_back(strides[axis]);
  strides[axis] *= step;
  copy_strided(result, from, 0, strides);
}

void concat_into(Expected& result, std::span<const Expected* const> parts, std::size_t axis) {
  const Numbers strides = row_major(result.shape);
  std::int64_t begin = 0;
  for (const Expected* part : parts) {
    StridedWalk walk(part->shape, {strides});
    for (std::int64_t i = 0; i < part->size(); ++i, walk.next())
      copy_element(result, begin * strides[axis] + walk.offset(0), *part, i);
    begin += part->shape[axis];
  }
}

/// A negative index counts from the end; what is still out of range becomes the nearest one in it.
std::int64_t resolve_index(std::int64_t index, std::int64_t extent) {
  if (index < 0) index += extent;
  return std::clamp<std::int64_t>(index, 0, extent - 1);
}

/// result[index] = from[… the index with its place along `axis` read from `indices` …]. `strides`
/// are those of `from` along the axes of the result, 0 for those that only choose an index.
void gather(Expected& result, const Expected& from, const Expected& indices, std::size_t axis,
            const Numbers& strides, const Numbers& index_strides) {
  if (result.size() == 0) return;
  const std::int64_t extent = from.shape[axis];
  const std::int64_t step = row_major(from.shape)[axis];
  StridedWalk walk(result.shape, {strides, index_strides});
  for (std::int64_t i = 0; i < result.size(); ++i, walk.next()) {
    const std::int64_t chosen = indices.integers[static_cast<std::size_t>(walk.offset(1))];
    copy_element(result, i, from, walk.offset(0) + resolve_index(chosen, extent) * step);
    if (indices.is_undecided(walk.offset(1)))
      result.bounds[static_cast<std::size_t>(i)] = kUndecided;
  }
}

/// The result's axes: those of x before `axis`, those of the indices, those of x after `axis`.
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

/// One rounded addition, of any two numbers within their bounds.
void add_element(Expected& to, std::size_t i, const Expected& from, std::size_t k) {
  if (!is_floating(to.dtype)) {
    const Wide sum =
        from_stored(to.dtype, to.integers[i]) + from_stored(to.dtype, from.integers[k]);
    to.integers[i] = to_stored(wrap_to(to.dtype, sum));
    if (from.bound(static_cast<std::int64_t>(k)) != 0) to.bounds[i] = kUndecided;
    return;
  }
  const long double operands[] = {to.reals[i], from.reals[k]};
  const long double value = operands[0] + operands[1];
  const double bound =
      to.bounds.empty() ? 0 : to.bounds[i] + from.bound(static_cast<std::int64_t>(k));
  if (bound == 0) {
    to.reals[i] = evaluate(info(Op::add), operands, to.dtype);
    return;
  }
  const Element sum =
      std::isinf(bound)
          ? Element{.value = round_to(to.dtype, value), .bound = kUndecided}
          : to_element(
                rounded({.value = value, .low = value - bound, .high = value + bound}, to.dtype));
  to.reals[i] = sum.value;
  to.bounds[i] = sum.bound;
}

void scatter_into(Expected& result, const Expected& x, const Expected& indices,
                  const Expected& source, bool accumulate) {
  for (std::int64_t i = 0; i < result.size(); ++i) copy_element(result, i, x, i);
  const std::int64_t rows = x.shape[0];
  const std::int64_t columns = x.shape[1];
  for (std::int64_t k = 0; k < indices.size(); ++k) {
    if (indices.is_undecided(k)) {
      // It may be any row, or none.
      std::ranges::fill(result.bounds, kUndecided);
      return;
    }
    const Wide row = from_stored(indices.dtype, indices.integers[static_cast<std::size_t>(k)]);
    if (row < 0 || row >= rows) continue;
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t to = static_cast<std::int64_t>(row) * columns + column;
      const std::int64_t from = k * columns + column;
      if (accumulate)
        add_element(result, static_cast<std::size_t>(to), source, static_cast<std::size_t>(from));
      else
        copy_element(result, to, source, from);
    }
  }
}

}  // namespace

Expected interpret_structural(const Application& application) {
  const Node& node = application.node;
  const std::span<const Expected* const> operands = application.operands;
  Expected result = make_expected(node.dtype, application.shape, has_bounds(operands));
  const auto axis = [&] { return static_cast<std::size_t>(attribute(node, "axis").integer); };
  const Expected& x = *operands[0];
  switch (node.op) {
    case Op::reshape:
      result.reals = x.reals;
      result.integers = x.integers;
      result.bounds = x.bounds;
      break;
    case Op::permute: permute_into(result, x, attribute(node, "axes").integers); break;
    case Op::broadcast_to: broadcast(result, x); break;
    case Op::slice:
      slice_into(result, x, axis(), evaluate(attribute(node, "begin").extent, application.symbols),
                 attribute(node, "step").integer);
      break;
    case Op::flip: flip_into(result, x, attribute(node, "axes").integers); break;
    case Op::as_strided:
      copy_strided(result, x, evaluate(attribute(node, "offset").extent, application.symbols),
                   evaluate_all(attribute(node, "strides").extents, application.symbols));
      break;
    case Op::unfold: unfold_into(result, x, axis(), attribute(node, "step").integer); break;
    case Op::concat: concat_into(result, operands, axis()); break;
    case Op::scatter:
      scatter_into(result, x, *operands[1], *operands[2],
                   attribute(node, "accumulate").integer != 0);
      break;
    case Op::take: take_into(result, x, *operands[1], axis()); break;
    case Op::take_along_axis: take_along_axis_into(result, x, *operands[1], axis()); break;
    default: throw InternalError("interpret: unknown structural op");
  }
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
