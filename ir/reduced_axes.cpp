#include "ir/reduced_axes.h"

#include "ir/record.h"

#include <algorithm>

namespace sinter {

ReducedAxes::ReducedAxes(Tensor x, Tensor y) : x_(x), y_(y) {
  const std::span<const std::int64_t> axes = reduced_axes(*y.node());
  axes_.assign(axes.begin(), axes.end());
}

Tensor ReducedAxes::spread(Tensor value) const {
  const ShapeVector kept = reduced_shape(*x_.node(), axes_, Keep::yes);
  return broadcast_to(reshape(value, std::span<const Extent>(kept)), x_.shape());
}

Tensor ReducedAxes::mean() const { return spread(sinter::mean(x_, axes_, keep)); }

Tensor ReducedAxes::share(Tensor g) const {
  const Tensor is_it = cast(eq(x_, spread(y_)), x_.dtype());
  return is_it * spread(g) / spread(sum(is_it, axes_, keep));
}

Tensor ReducedAxes::others() const {
  const Tensor is_zero = eq(x_, 0);
  const Tensor zeros = spread(sum(cast(is_zero, x_.dtype()), axes_, keep));
  const Tensor without = where(is_zero, 1, x_);
  const Tensor product = spread(prod(without, axes_, keep));
  // An element's own zero does not count; any other one makes the product 0.
  return where(eq(zeros, cast(is_zero, x_.dtype())), product / without, 0);
}

Tensor ReducedAxes::count() const {
  Extent size = 1;
  for (const std::int64_t axis : axes_) size = size * x_.shape()[static_cast<std::size_t>(axis)];
  const Tensor count = record_size(*x_.graph(), size, x_.dtype(), x_.graph()->location(y_.node()));
  return y_.node()->op == Op::var
             ? count - static_cast<double>(attribute(*y_.node(), "correction").integer)
             : count;
}

Tensor ReducedAxes::zero() const { return zeros_like(x_); }

}  // namespace sinter
