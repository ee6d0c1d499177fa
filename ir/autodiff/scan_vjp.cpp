// Vjps of scans, recorded as scans and, for extremes, a scatter.
#include "ir/autodiff/scan_vjp.h"

#include "ir/record/index_operands.h"
#include "ir/record/record.h"
#include "sinter/views.h"

namespace sinter {

namespace {

int scanned_axis(Tensor y) { return static_cast<int>(attribute(*y.node(), "axis").integer); }

Tensor reverse_cumsum(Tensor g, int axis) { return cumsum(g, axis, {.reverse = true}); }

/// Adds g at each position to the cotangent of that position's leader. The leader is the last
/// position so far at which `is_new` is true, that is, at which the extreme changes.
Tensor scatter_to_leaders(Tensor x, Tensor g, Tensor is_new, int axis) {
  const Extent extent = x.shape()[static_cast<std::size_t>(axis)];
  ShapeVector along(x.shape().size(), Extent(1));
  along[static_cast<std::size_t>(axis)] = extent;
  GraphData& data = *x.graph();
  const Tensor index = reshape(axis_indices(data, extent, data.location(x.node())), along);
  const Tensor leader = cummax(where(is_new, index, 0), axis);
  return scatter_add(zeros_like(x), axis, leader, g);
}

/// True where x changes the extreme. `before` is the scan of the preceding elements, and `passed`
/// says that x exceeds it. The first NaN counts too, since no comparison with NaN is true.
Tensor is_leader(Tensor passed, Tensor x, Tensor before) {
  const Tensor was_number = logical_not(isnan(before));
  const Tensor first_nan = logical_and(isnan(x), was_number);
  return logical_or(passed, first_nan);
}

}  // namespace

Tensor cumsum_vjp(Tensor x, Tensor y, Tensor g) {
  (void)x;
  return reverse_cumsum(g, scanned_axis(y));
}

Tensor cumprod_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor is_zero = eq(x, 0);
  const Tensor zeros = cumsum(is_zero, axis);
  const Tensor usable = where(is_zero, 1, x);
  // Elements before the first zero; from the first zero on, y is 0.
  const Tensor before = reverse_cumsum(g * y, axis) / usable;
  // The first zero uses the products in which it is replaced by 1.
  const Tensor is_first = logical_and(is_zero, eq(zeros, 1));
  const Tensor without = cumprod(where(is_first, 1, x), axis);
  const Tensor at_first = reverse_cumsum(g * without, axis);
  const Tensor from_first = where(is_first, at_first, 0);
  return where(eq(zeros, 0), before, from_first);
}

Tensor cummax_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor before = cummax(x, axis, {.exclusive = true});
  return scatter_to_leaders(x, g, is_leader(gt(x, before), x, before), axis);
}

Tensor cummin_vjp(Tensor x, Tensor y, Tensor g) {
  const int axis = scanned_axis(y);
  const Tensor before = cummin(x, axis, {.exclusive = true});
  return scatter_to_leaders(x, g, is_leader(lt(x, before), x, before), axis);
}

}  // namespace sinter
