#include "ir/autodiff/scan_vjp.h"

#include "ir/record/index_operands.h"
#include "ir/record/record.h"
#include "sinter/views.h"

namespace sinter {

namespace {

int scanned_axis(Tensor y) { return static_cast<int>(attribute(*y.node(), "axis").integer); }

Tensor sum_from_here(Tensor g, int axis) { return cumsum(g, axis, {.reverse = true}); }

/// `is_new` holds where the extreme changes: every place belongs to the last such one before it.
Tensor to_leaders(Tensor x, Tensor g, Tensor is_new, int axis) {
  const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
  ShapeVector along(x.shape().size(), Extent(1));
  along[static_cast<std::size_t>(axis)] = extent;
  GraphData& data = *x.graph();
  const Tensor place =
      reshape(places(data, extent, data.location(x.node())), std::span<const Extent>(along));
  const Tensor leader = cummax(where(is_new, place, 0), axis);
  return scatter_add(zeros_like(x), axis, leader, g);
}

/// Where the scan without x's own element is passed by it; and at NaN, which nothing passes.
Tensor is_leader(Tensor passed, Tensor x, Tensor before) {
  const Tensor was_number = logical_not(isnan(before));
  const Tensor first_nan = logical_and(isnan(x), was_number);
  return logical_or(passed, first_nan);
}

}  // namespace

Tensor cumsum_vjp(Tensor x, Tensor y, Tensor g) {
  (void)x;
  return sum_from_here(g, scanned_axis(y));
}

Tensor cumprod_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor is_zero = eq(x, 0);
  const Tensor zeros = cumsum(is_zero, axis);
  const Tensor usable = where(is_zero, 1, x);
  // Up to the first zero: what follows it is 0 in y.
  const Tensor before = sum_from_here(g * y, axis) / usable;
  // At the first zero: the products as if it were 1.
  const Tensor is_first = logical_and(is_zero, eq(zeros, 1));
  const Tensor without = cumprod(where(is_first, 1, x), axis);
  const Tensor at_first = sum_from_here(g * without, axis);
  const Tensor from_first = where(is_first, at_first, 0);
  return where(eq(zeros, 0), before, from_first);
}

Tensor cummax_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor before = cummax(x, axis, {.exclusive = true});
  return to_leaders(x, g, is_leader(gt(x, before), x, before), axis);
}

Tensor cummin_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor before = cummin(x, axis, {.exclusive = true});
  return to_leaders(x, g, is_leader(lt(x, before), x, before), axis);
}

}  // namespace sinter
