// Norms of vectors, and other functions of what lies along axes.
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "sinter/nn.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

/// The lengths of the vectors along an axis, none below `eps`. The bound stands under the root,
/// which is infinitely steep at 0.
Tensor lengths(const Operand& x, int axis, double eps, Keep kept) {
  const double least = std::max(eps * eps, std::ldexp(1.0, info(x.tensor.dtype()).min_exponent));
  return sqrt(maximum(sum(square(x), {axis}, kept), least));
}

/// √total of no number below 0. The root is infinitely steep at 0; there it has slope 0 instead.
Tensor flat_root(Tensor total) {
  const Tensor is_zero = eq(total, 0);
  const Tensor positive = where(is_zero, 1, total);
  return where(is_zero, 0, sqrt(positive));
}

}  // namespace

Tensor norm(Operand x, double p, Axes axes, Keep kept) {
  const LocationScope place(x);
  const Widening to("norm", {&x});
  const Operand wide = to.wide(x);
  if (p == 1) return to.narrow(sum(abs(wide), axes, kept));
  if (p == 2) return to.narrow(flat_root(sum(square(wide), axes, kept)));
  // The largest of nothing is -inf.
  if (p == std::numeric_limits<double>::infinity())
    return to.narrow(maximum(max(abs(wide), axes, kept), 0));
  fail("norm", fmt::format("p is {}; it must be 1, 2 or infinity", p), x.location);
}

Tensor std_dev(Operand x, Axes axes, int correction, Keep kept) {
  const LocationScope place(x);
  const Widening to("std", {&x});
  return to.narrow(flat_root(var(to.wide(x), axes, correction, kept)));
}

Tensor count_nonzero(Operand x, Axes axes, Keep kept) {
  const LocationScope place(x);
  return sum(ne(x, 0), axes, kept);
}

Tensor l2_normalize(Operand x, int axis, double eps) {
  const LocationScope place(x);
  const Widening to("l2_normalize", {&x});
  const Operand wide = to.wide(x);
  return to.narrow(wide / lengths(wide, axis, eps, keep));
}

Tensor cosine_similarity(Operand a, Operand b, int axis, double eps) {
  const LocationScope place(a);
  graph_of("cosine_similarity", a);
  graph_of("cosine_similarity", b);
  const Widening to("cosine_similarity", {&a, &b});
  const Operand left = to.wide(a);
  const Operand right = to.wide(b);
  const Tensor products = left * right;
  const Tensor dot = sum(placed(products, a), {axis});
  const Operand all_left = placed(broadcast_to(left, products.shape()), a);
  const Operand all_right = placed(broadcast_to(right, products.shape()), a);
  const Tensor length_left = lengths(all_left, axis, eps, Keep::no);
  const Tensor length_right = lengths(all_right, axis, eps, Keep::no);
  return to.narrow(dot / (length_left * length_right));
}

}  // namespace sinter
