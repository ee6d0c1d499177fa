// Implements the building blocks of reduction vjps in the accumulator's dtype.
#include "ir/autodiff/reduction_vjp.h"

#include "ir/record/record.h"

#include <algorithm>
#include <limits>

namespace sinter {

ReductionVjp::ReductionVjp(Tensor x, Tensor y) : x_(x), y_(y) {
  const std::span<const std::int64_t> axes = reduced_axes(*y.node());
  axes_.assign(axes.begin(), axes.end());
}

Tensor ReductionVjp::broadcast_back(Tensor value) const {
  const ShapeVector kept = reduced_shape(*x_.node(), axes_, Keep::yes);
  return broadcast_to(reshape(value, kept), x_.shape());
}

Tensor ReductionVjp::times_deviation(Tensor scale) const {
  const Tensor x = cast(x_, accumulator());
  const Tensor mean = broadcast_back(sinter::mean(x, axes_, keep));
  const Tensor deviation = x - mean;
  return broadcast_back(scale) * 2 * deviation;
}

Tensor ReductionVjp::split_among_ties(Tensor g) const {
  const Tensor is_it = cast(eq(x_, broadcast_back(y_)), accumulator());
  const Tensor count = broadcast_back(sum(is_it, axes_, keep));
  return is_it * broadcast_back(g) / count;
}

Tensor ReductionVjp::times_product_of_others(Tensor g) const {
  const Tensor is_zero = eq(x_, 0);
  const Tensor own = cast(is_zero, accumulator());
  const Tensor zeros = broadcast_back(sum(own, axes_, keep));
  const Tensor x = cast(x_, accumulator());
  const Tensor without = where(is_zero, 1, x);
  const Tensor product = broadcast_back(prod(without, axes_, keep));
  // The element itself is left out of the product, so only a zero elsewhere makes the product 0.
  const Tensor only_own = eq(zeros, own);
  const Tensor others = where(only_own, product / without, 0);
  return broadcast_back(g) * others;
}

Tensor ReductionVjp::times_softmax(Tensor g) const {
  // A logarithm rounded to a half has too large an error for its exponential to be useful.
  const DType dtype = accumulator();
  const Tensor x = cast(x_, dtype);
  const Tensor y = x.node() == x_.node() ? y_ : widened(x);
  // -inf - -inf would be NaN.
  const Tensor is_empty = eq(y, -std::numeric_limits<double>::infinity());
  const Tensor shift = broadcast_back(where(is_empty, 0, y));
  const Tensor softmax = exp(x - shift);
  return cast(broadcast_back(cast(g, dtype)) * softmax, x_.dtype());
}

Tensor ReductionVjp::widened(Tensor x) const {
  const Node& y = *y_.node();
  const std::vector<std::int64_t> order = reduction_order(y);
  const Keep kept = keeps_axes(y) ? Keep::yes : Keep::no;
  return record_reduction(y.op, x, axes_, {.keep = kept, .order = order});
}

Tensor ReductionVjp::count() const {
  GraphData& graph = *x_.graph();
  const Tensor count =
      record_size(graph, reduced_extent(*y_.node()), accumulator(), graph.location(y_.node()));
  return y_.node()->op == Op::var
             ? count - static_cast<double>(attribute(*y_.node(), "correction").integer)
             : count;
}

DType ReductionVjp::accumulator() const { return info(x_.dtype()).accumulator; }

Tensor ReductionVjp::zero() const { return zeros_like(x_); }

}  // namespace sinter
