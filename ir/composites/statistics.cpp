// Vector norms, standard deviation, count_nonzero, l2_normalize and cosine_similarity.
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "sinter/nn.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

/// The lengths of the vectors along an axis, at least `eps`. The bound is applied before the root,
/// whose slope at 0 is infinite.
Tensor lengths(const Operand& x, int axis, double eps, Keep keep_axes) {
  const double least = std::max(eps * eps, std::ldexp(1.0, info(x.tensor.dtype()).min_exponent));
  return sqrt(maximum(sum(square(x), {axis}, keep_axes), least));
}

/// √total for total >= 0, with slope 0 instead of infinity at 0.
Tensor sqrt_with_zero_slope(Tensor total) {
  const Tensor is_zero = eq(total, 0);
  const Tensor positive = where(is_zero, 1, total);
  return where(is_zero, 0, sqrt(positive));
}

}  // namespace

Tensor norm(Operand x, double p, Axes axes, Keep keep_axes) {
  return compute_wide("norm", x, [&](const Operand& wide) {
    if (p == 1) return sum(abs(wide), axes, keep_axes);
    if (p == 2) return sqrt_with_zero_slope(sum(square(wide), axes, keep_axes));
    // max over no elements is -inf, so 0 is the lower bound.
    if (p == std::numeric_limits<double>::infinity())
      return maximum(max(abs(wide), axes, keep_axes), 0);
    fail("norm", fmt::format("p is {}; it must be 1, 2 or infinity", p), x.location);
  });
}

Tensor std_dev(Operand x, Axes axes, int correction, Keep keep_axes) {
  return compute_wide("std", x, [&](const Operand& wide) {
    return sqrt_with_zero_slope(var(wide, axes, correction, keep_axes));
  });
}

Tensor count_nonzero(Operand x, Axes axes, Keep keep_axes) {
  const LocationScope scope(x);
  return sum(ne(x, 0), axes, keep_axes);
}

Tensor l2_normalize(Operand x, int axis, double eps) {
  return compute_wide("l2_normalize", x,
                      [&](const Operand& wide) { return wide / lengths(wide, axis, eps, keep); });
}

Tensor cosine_similarity(Operand a, Operand b, int axis, double eps) {
  const LocationScope scope(a);
  graph_of("cosine_similarity", a);
  graph_of("cosine_similarity", b);
  const Widening to("cosine_similarity", {&a, &b});
  const Operand left = to.wide(a);
  const Operand right = to.wide(b);
  const Tensor products = left * right;
  const Tensor dot = sum(with_location(products, a), {axis});
  const Operand all_left = with_location(broadcast_to(left, products.shape()), a);
  const Operand all_right = with_location(broadcast_to(right, products.shape()), a);
  const Tensor length_left = lengths(all_left, axis, eps, Keep::no);
  const Tensor length_right = lengths(all_right, axis, eps, Keep::no);
  return to.narrow(dot / (length_left * length_right));
}

}  // namespace sinter
