// Activations, and the arithmetic beside them. Where an op would give an infinity times 0 on the
// way back, its operand is bounded first.
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "sinter/nn.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

/// x where it is above 0, else alpha · (eˣ − 1), whose slope at 0 is alpha: the 0 comes first.
Tensor exponential_below(const Operand& x, double alpha) {
  const Tensor below = expm1(minimum(0, x)) * alpha;
  const Tensor is_positive = gt(x, 0);
  return where(is_positive, x, below);
}

/// log(1 + eˣ); the exponential is at most 1.
Tensor log1p_exp(const Operand& x) {
  const Tensor rest = log1p(exp(minus_magnitude(x)));
  return maximum(0, x) + rest;
}

/// clamp(x + 3, 0, 6), with slope 0 at both ends
Tensor relu6_of_next(const Operand& x) { return minimum(maximum(x + 3.0, 0), 6); }

}  // namespace

Tensor leaky_relu(Operand x, double slope) {
  const LocationScope place(x);
  const Tensor below = x * slope;
  const Tensor is_positive = gt(x, 0);
  return where(is_positive, x, below);
}

Tensor elu(Operand x, double alpha) {
  const LocationScope place(x);
  const Widening to("elu", {&x});
  return to.narrow(exponential_below(to.wide(x), alpha));
}

Tensor selu(Operand x) {
  const LocationScope place(x);
  constexpr double kAlpha = 1.6732632423543772;
  constexpr double kScale = 1.0507009873554805;
  const Widening to("selu", {&x});
  return to.narrow(exponential_below(to.wide(x), kAlpha) * kScale);
}

Tensor silu(Operand x) {
  const LocationScope place(x);
  const Widening to("silu", {&x});
  const Operand wide = to.wide(x);
  return to.narrow(wide * sigmoid(wide));
}

Tensor swish(Operand x, double beta) {
  const LocationScope place(x);
  const Widening to("swish", {&x});
  const Operand wide = to.wide(x);
  return to.narrow(wide * sigmoid(wide * beta));
}

Tensor mish(Operand x) {
  const LocationScope place(x);
  const Widening to("mish", {&x});
  const Operand wide = to.wide(x);
  return to.narrow(wide * tanh(log1p_exp(wide)));
}

Tensor softplus(Operand x, double beta, double threshold) {
  const LocationScope place(x);
  const Widening to("softplus", {&x});
  const Operand wide = to.wide(x);
  const Operand scaled = placed(wide * beta, x);
  const Tensor smooth = log1p_exp(scaled) / beta;
  const Tensor is_linear = gt(scaled, threshold);
  return to.narrow(where(is_linear, wide, smooth));
}

Tensor gelu_tanh(Operand x) {
  const LocationScope place(x);
  constexpr double kTwiceRootTwoOverPi = 1.5957691216057308;
  const Widening to("gelu_tanh", {&x});
  const Operand wide = to.wide(x);
  const Tensor cubic = wide * wide * wide * 0.044715;
  return to.narrow(wide * sigmoid((cubic + wide) * kTwiceRootTwoOverPi));
}

Tensor hardswish(Operand x) {
  const LocationScope place(x);
  const Widening to("hardswish", {&x});
  const Operand wide = to.wide(x);
  return to.narrow(wide * relu6_of_next(wide) / 6);
}

Tensor hardsigmoid(Operand x) {
  const LocationScope place(x);
  const Widening to("hardsigmoid", {&x});
  return to.narrow(relu6_of_next(to.wide(x)) / 6);
}

Tensor hardtanh(Operand x, double low, double high) {
  const LocationScope place(x);
  // Unlike clamp it is flat at both ends.
  const Operand least = number(low, x);
  const Operand most = number(high, x);
  return minimum(placed(maximum(x, least), x), most);
}

Tensor softsign(Operand x) {
  const LocationScope place(x);
  const Widening to("softsign", {&x});
  const Operand wide = to.wide(x);
  return to.narrow(wide / (abs(wide) + 1.0));
}

Tensor swiglu(Operand gate, Operand up) {
  const LocationScope place(gate);
  const Widening to("swiglu", {&gate, &up});
  const Operand wide = to.wide(gate);
  const Operand factor = to.wide(up);
  return to.narrow(wide * sigmoid(wide) * factor);
}

Tensor geglu(Operand gate, Operand up) {
  const LocationScope place(gate);
  const Widening to("geglu", {&gate, &up});
  const Operand wide = to.wide(gate);
  const Operand factor = to.wide(up);
  return to.narrow(gelu(wide) * factor);
}

Tensor rotary_embedding(Operand x, Operand cosines, Operand sines) {
  const LocationScope place(x);
  const Widening to("rotary_embedding", {&x});
  const Node& node = *x.tensor.node();
  const std::optional<Extent> half =
      node.rank() == 0 ? std::nullopt : divide_exactly(node.shape.back(), 2);
  if (!half)
    fail("rotary_embedding",
         fmt::format("the last extent of x, which is {}, must be even", type_text(node)),
         x.location);
  for (const Operand* table : {&cosines, &sines}) {
    graph_of("rotary_embedding", *table);
    const Node* const both[] = {&node, table->tensor.node()};
    if (!std::ranges::equal(broadcast_shapes("rotary_embedding", both, x.location), node.shape))
      fail("rotary_embedding",
           fmt::format("{} must broadcast to x, which is {}", type_text(*both[1]), type_text(node)),
           table->location);
  }
  const Operand wide = to.wide(x);
  const int last = node.rank() - 1;
  const Tensor first = slice(wide, last, 0, *half);
  const Tensor second = slice(wide, last, *half, node.shape.back());
  const Tensor turned = concat({neg(second), first}, last);
  const Tensor along = wide * to.wide(cosines);
  const Tensor across = turned * to.wide(sines);
  return to.narrow(along + across);
}

Tensor clamp(Operand x, Operand low, Operand high) {
  const LocationScope place(x);
  // x comes last: where it equals an end, its slope is 1.
  const Tensor raised = maximum(low, x);
  return minimum(high, placed(raised, x));
}

Tensor lerp(Operand a, Operand b, Operand weight) {
  const LocationScope place(a.is_literal() ? b : a);
  const Widening to("lerp", {&a, &b, &weight});
  const Operand from = to.wide(a);
  const Operand end = to.wide(b);
  const Tensor way = end - from;
  if (weight.is_literal()) {
    const double share = as_real(weight.literal);
    return to.narrow(share > -0.5 && share < 0.5 ? from + way * share : end - way * (1 - share));
  }
  const Operand share = to.wide(weight);
  const Tensor forward = from + way * share;
  const Tensor rest = way * (1.0 - share);
  const Tensor backward = end - rest;
  const Tensor is_near = lt(abs(share), 0.5);
  return to.narrow(where(is_near, forward, backward));
}

Tensor addcmul(Operand x, Operand a, Operand b, Operand value) {
  const LocationScope place(x.is_literal() ? a : x);
  const Widening to("addcmul", {&x, &a, &b, &value});
  const Operand left = to.wide(a);
  const Tensor product = left * to.wide(b);
  const Tensor scaled = is_number(value, 1) ? product : product * to.wide(value);
  return to.narrow(to.wide(x) + scaled);
}

Tensor addcdiv(Operand x, Operand a, Operand b, Operand value) {
  const LocationScope place(x.is_literal() ? a : x);
  const Widening to("addcdiv", {&x, &a, &b, &value});
  const Operand left = to.wide(a);
  const Tensor quotient = left / to.wide(b);
  const Tensor scaled = is_number(value, 1) ? quotient : quotient * to.wide(value);
  return to.narrow(to.wide(x) + scaled);
}

Tensor logaddexp(Operand a, Operand b) {
  const LocationScope place(a.is_literal() ? b : a);
  const Widening to("logaddexp", {&a, &b});
  const Operand left = to.wide(a);
  const Operand right = to.wide(b);
  // Of equal ones `largest` belongs to the left one, and half of it goes over by the slope of the
  // distance.
  const Tensor largest = maximum(right, left);
  const Tensor distance = minus_magnitude(placed(left - right, a));
  // The difference of two equal infinities is NaN; beside an infinite result it does not matter.
  const Tensor is_usable = isfinite(largest);
  const Tensor rest = log1p(exp(where(is_usable, distance, 0)));
  return to.narrow(largest + rest);
}

}  // namespace sinter
