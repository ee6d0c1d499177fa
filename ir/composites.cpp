// Composites: functions written in ops. Gradient and fusion come free.
#include "sinter/ops.h"

namespace sinter {

Tensor reciprocal(Operand x) { return div(Operand(Literal{.real = 1.0}, x.location), x); }
Tensor square(Operand x) { return mul(x, x); }
Tensor relu(Operand x) { return maximum(x, Operand(Literal{.real = 0.0}, x.location)); }

Tensor sigmoid(Operand x) {
  // For large negative x, exp(-x) is infinite and the quotient is a correct 0.
  return reciprocal(exp(neg(x)) + 1.0);
}

Tensor gelu(Operand x) {
  constexpr double kSqrtHalf = 0.7071067811865476;
  return x * 0.5 * (erf(x * kSqrtHalf) + 1.0);
}

Tensor softmax(Operand x, int axis) {
  // The largest element is taken off so that exp never overflows.
  const Tensor e = exp(x - max(x, {axis}, keep));
  return e / sum(e, {axis}, keep);
}

Tensor log_softmax(Operand x, int axis) {
  const Tensor shifted = x - max(x, {axis}, keep);
  return shifted - log(sum(exp(shifted), {axis}, keep));
}

}  // namespace sinter
