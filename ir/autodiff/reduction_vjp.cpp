#include "ir/autodiff/reduction_vjp.h"

#include "ir/record/record.h"

#include <algorithm>
#include <limits>

namespace sinter {

ReductionVjp::ReductionVjp(Tensor x, Tensor y) : x_(x), y_(y) {
  const std::span<const std::int64_t> axes = reduced_axes(*y.node());
  axes_.assign(axes.begin(), axes.end());
}

Tensor ReductionVjp::spread(Tensor value) const {
  const ShapeVector kept = reduced_shape(*x_.node(), axes_, Keep::yes);
  return broadcast_to(reshape(value, std::span<const Extent>(kept)), x_.shape());
}

Tensor ReductionVjp::times_deviation(Tensor scale) const {
  const Tensor x = cast(x_, accumulator());
  const Tensor mean = spread(sinter::mean(x, axes_, keep));
  const Tensor deviation = x - mean;
  return spread(scale) * 2 * deviation;
}

Tensor ReductionVjp::share(Tensor g) const {
  const Tensor is_it = cast(eq(x_, spread(y_)), accumulator());
  const Tensor count = spread(sum(is_it, axes_, keep));
  return is_it * spread(g) / count;
}

Tensor ReductionVjp::times_others(Tensor g) const {
  const Tensor is_zero = eq(x_, 0);
  const Tensor own = cast(is_zero, accumulator());
  const Tensor zeros = spread(sum(own, axes_, keep));
  const Tensor x = cast(x_, accumulator());
  const Tensor without = where(is_zero, 1, x);
  const Tensor product = spread(prod(without, axes_, keep));
  // An element's own zero does not count; any other one makes the product 0.
  const Tensor only_own = eq(zeros, own);
  const Tensor others = where(only_own, product / without, 0);
  return spread(g) * others;
}

Tensor ReductionVjp::times_softmax(Tensor g) const {
  // A logarithm rounded to a half is off by so much that its exponential would be of no use.
  const DType dtype = accumulator();
  const Tensor x = cast(x_, dtype);
  const Tensor y = x.node() == x_.node() ? y_ : widened(x);
  // -inf less itself would be NaN.
  const Tensor is_empty = eq(y, -std::numeric_limits<double>::infinity());
  const Tensor shift = spread(where(is_empty, 0, y));
  const Tensor softmax = exp(x - shift);
  return cast(spread(cast(g, dtype)) * softmax, x_.dtype());
}

Tensor ReductionVjp::widened(Tensor x) const {
  const Node& y = *y_.node();
  const std::vector<std::int64_t> order = reduction_order(y);
  const Keep kept = keeps_axes(y) ? Keep::yes : Keep::no;
  return record_reduction(y.op, x, axes_, {.keep = kept, .order = order});
}

Tensor ReductionVjp::count() const {
  Extent size = 1;
  for (const std::int64_t axis : axes_) size = size * x_.shape()[static_cast<std::size_t>(axis)];
  const Tensor count =
      record_size(*x_.graph(), size, accumulator(), x_.graph()->location(y_.node()));
  return y_.node()->op == Op::var
             ? count - static_cast<double>(attribute(*y_.node(), "correction").integer)
             : count;
}

DType ReductionVjp::accumulator() const { return info(x_.dtype()).accumulator; }

Tensor ReductionVjp::zero() const { return zeros_like(x_); }

}  // namespace sinter
