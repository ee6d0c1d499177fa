// Composites: functions written in ops. Gradient and fusion come free.
#include <numbers>

#include "ir/composites/widening.h"
#include "ir/record/composite.h"

namespace sinter {

Tensor reciprocal(Operand x) { return div(number(1.0, x), x); }
Tensor square(Operand x) { return mul(x, x); }

Tensor frac(Operand x) {
  const LocationScope place(x);
  return x - trunc(x);
}

Tensor relu(Operand x) {
  // A whole number, so that integers stay what they are.
  return maximum(x, Operand(Literal::of(0), x.location));
}

Tensor minus_magnitude(const Operand& x) {
  const LocationScope place(x);
  const Tensor negative = neg(x);
  return minimum(x, negative);
}

Tensor sigmoid(Operand x) {
  const LocationScope place(x);
  const Widening to("sigmoid", {&x});
  const Operand wide = to.wide(x);
  // By exp(-|x|), which never overflows: so the gradient is right everywhere too. Both choices are
  // made alike, so that it is right at 0, where abs has slope 0.
  const Tensor is_positive = ge(wide, number(0.0, x));
  const Tensor negative = neg(wide);
  const Tensor e = exp(where(is_positive, negative, wide));
  const Tensor numerator = where(is_positive, number(1.0, x), e);
  return to.narrow(numerator / (e + 1.0));
}

Tensor gelu(Operand x) {
  const LocationScope place(x);
  constexpr double kSqrtHalf = 0.7071067811865476;
  const Widening to("gelu", {&x});
  const Operand wide = to.wide(x);
  // Not by 1 + erf, of which nothing is left far below 0. In two statements: a compiler may
  // evaluate the operands of one in any order, and the order of recording must not depend on it.
  const Tensor twice_share = erfc(wide * -kSqrtHalf);
  return to.narrow(wide * 0.5 * twice_share);
}

Tensor trigamma(Operand x) {
  const LocationScope place(x);
  // Below 1/2 by reflection: trigamma(x) + trigamma(1 - x) = (pi / sin(pi x))^2. From there up to 6
  // and more by recurrence, trigamma(x) = trigamma(x + 1) + 1 / x^2, and then the asymptotic series
  // (Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.12).
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
  const LocationScope place(x);
  const Widening to("softmax", {&x});
  const Operand wide = to.wide(x);
  // The largest element is taken off so that exp never overflows. The result is the same whatever
  // is taken off, so for its gradient that is a constant.
  const Tensor largest = stop_gradient(max(wide, {axis}, keep));
  const Tensor e = exp(wide - largest);
  return to.narrow(e / sum(e, {axis}, keep));
}

Tensor log_softmax(Operand x, int axis) {
  const LocationScope place(x);
  const Widening to("log_softmax", {&x});
  const Operand wide = to.wide(x);
  const Tensor largest = stop_gradient(max(wide, {axis}, keep));
  const Tensor shifted = wide - largest;
  return to.narrow(shifted - log(sum(exp(shifted), {axis}, keep)));
}

}  // namespace sinter
