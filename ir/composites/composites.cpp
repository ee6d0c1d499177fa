// Basic composites. They consist of ops, so gradients and fusion need no extra code.
#include <numbers>

#include "ir/composites/widening.h"
#include "ir/record/composite.h"

namespace sinter {

Tensor reciprocal(Operand x) { return div(number_at(1.0, x), x); }
Tensor square(Operand x) { return mul(x, x); }

Tensor frac(Operand x) {
  const LocationScope scope(x);
  return x - trunc(x);
}

Tensor relu(Operand x) {
  // An integer literal, so that integer dtypes are kept.
  return maximum(x, Operand(Literal::of(0), x.location));
}

Tensor neg_abs(const Operand& x) {
  const LocationScope scope(x);
  const Tensor negative = neg(x);
  return minimum(x, negative);
}

Tensor sigmoid(Operand x) {
  return compute_wide("sigmoid", x, [](const Operand& wide) {
    // exp(-|x|) never overflows, so the gradient is exact everywhere. Both choices use one
    // condition instead of abs, so that the gradient is exact at 0, where abs has slope 0.
    const Tensor is_positive = ge(wide, number_at(0.0, wide));
    const Tensor negative = neg(wide);
    const Tensor e = exp(where(is_positive, negative, wide));
    const Tensor numerator = where(is_positive, number_at(1.0, wide), e);
    return numerator / (e + 1.0);
  });
}

Tensor gelu(Operand x) {
  constexpr double kSqrtHalf = 0.7071067811865476;
  return compute_wide("gelu", x, [](const Operand& wide) {
    // erfc is used because 1 + erf cancels to 0 far below 0. The two statements fix the recording
    // order: a C++ compiler may evaluate the operands of one expression in any order.
    const Tensor twice_share = erfc(wide * -kSqrtHalf);
    return wide * 0.5 * twice_share;
  });
}

Tensor trigamma(Operand x) {
  const LocationScope scope(x);
  // Below 1/2 the reflection formula applies: trigamma(x) + trigamma(1 - x) = (pi / sin(pi x))^2.
  // The recurrence trigamma(x) = trigamma(x + 1) + 1 / x^2 shifts x by 6, above 6, for the
  // asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.12).
  constexpr double kPi = std::numbers::pi;
  const Widening to("trigamma", {&x});
  const Operand wide = to.wide(x);
  const Tensor is_low = lt(wide, 0.5);
  Tensor z = where(is_low, 1.0 - wide, wide);
  Tensor shifted;
  for (int step = 0; step < 6; ++step) {
    const Tensor term = reciprocal(z * z);
    shifted = step == 0 ? term : shifted + term;
    z = z + 1.0;
  }
  const Tensor r = reciprocal(z);
  const Tensor s = r * r;
  const Tensor tail = s * (1.0 / 6 + s * (-1.0 / 30 + s * (1.0 / 42 + s * (-1.0 / 30))));
  const Tensor series = r * (1.0 + (r * 0.5 + tail));
  const Tensor above = shifted + series;
  const Tensor sine = sin((wide - floor(wide)) * kPi);
  return to.narrow(where(is_low, square(kPi / sine) - above, above));
}

Tensor softmax(Operand x, int axis) {
  return compute_wide("softmax", x, [&](const Operand& wide) {
    // The largest element is subtracted so that exp never overflows. The result does not depend on
    // the subtracted value, so the gradient treats it as a constant.
    const Tensor largest = stop_gradient(max(wide, {axis}, keep));
    const Tensor e = exp(wide - largest);
    return e / sum(e, {axis}, keep);
  });
}

Tensor log_softmax(Operand x, int axis) {
  return compute_wide("log_softmax", x, [&](const Operand& wide) {
    const Tensor largest = stop_gradient(max(wide, {axis}, keep));
    const Tensor shifted = wide - largest;
    return shifted - log(sum(exp(shifted), {axis}, keep));
  });
}

}  // namespace sinter
