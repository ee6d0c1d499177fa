// Activations and arithmetic composites. If an op's vjp could compute infinity · 0, its operand is
// bounded first.
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "sinter/nn.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

/// x if x > 0, else alpha · (eˣ − 1). Its slope at 0 is alpha: for equal operands minimum gives
/// the cotangent to the second, here x.
Tensor exponential_below(const Operand& x, double alpha) {
  const Tensor below = expm1(minimum(0, x)) * alpha;
  const Tensor is_positive = gt(x, 0);
  return where(is_positive, x, below);
}

/// log(1 + eˣ), computed with e^(−|x|), which is at most 1.
Tensor log1p_exp(const Operand& x) {
  const Tensor rest = log1p(exp(neg_abs(x)));
  return maximum(0, x) + rest;
}

/// x + value · combine(a, b), named `op` in messages.
Tensor add_scaled(std::string_view op, const Operand& x, const Operand& a,
                  Tensor (*combine)(Operand, Operand), const Operand& b, const Operand& value) {
  const LocationScope scope(x.is_literal() ? a : x);
  const Widening to(op, {&x, &a, &b, &value});
  const Operand left = to.wide(a);
  const Tensor combined = combine(left, to.wide(b));
  const Tensor scaled = is_number(value, 1) ? combined : combined * to.wide(value);
  return to.narrow(to.wide(x) + scaled);
}

/// clamp(x + 3, 0, 6), but with slope 0 at both ends.
Tensor shifted_relu6(const Operand& x) { return minimum(maximum(x + 3.0, 0), 6); }

}  // namespace

Tensor leaky_relu(Operand x, double slope) {
  const LocationScope scope(x);
  const Tensor below = x * slope;
  const Tensor is_positive = gt(x, 0);
  return where(is_positive, x, below);
}

Tensor elu(Operand x, double alpha) {
  return compute_wide("elu", x,
                      [&](const Operand& wide) { return exponential_below(wide, alpha); });
}

Tensor selu(Operand x) {
  constexpr double kAlpha = 1.6732632423543772;
  constexpr double kScale = 1.0507009873554805;
  return compute_wide("selu", x,
                      [](const Operand& wide) { return exponential_below(wide, kAlpha) * kScale; });
}

Tensor silu(Operand x) {
  return compute_wide("silu", x, [](const Operand& wide) { return wide * sigmoid(wide); });
}

Tensor swish(Operand x, double beta) {
  return compute_wide("swish", x, [&](const Operand& wide) { return wide * sigmoid(wide * beta); });
}

Tensor mish(Operand x) {
  return compute_wide("mish", x, [](const Operand& wide) { return wide * tanh(log1p_exp(wide)); });
}

Tensor softplus(Operand x, double beta, double threshold) {
  return compute_wide("softplus", x, [&](const Operand& wide) {
    const Operand scaled = with_location(wide * beta, wide);
    const Tensor smooth = log1p_exp(scaled) / beta;
    const Tensor is_linear = gt(scaled, threshold);
    return where(is_linear, wide, smooth);
  });
}

Tensor gelu_tanh(Operand x) {
  constexpr double kTwiceRootTwoOverPi = 1.5957691216057308;
  return compute_wide("gelu_tanh", x, [](const Operand& wide) {
    const Tensor cubic = wide * wide * wide * 0.044715;
    return wide * sigmoid((cubic + wide) * kTwiceRootTwoOverPi);
  });
}

Tensor hardswish(Operand x) {
  return compute_wide("hardswish", x,
                      [](const Operand& wide) { return wide * shifted_relu6(wide) / 6; });
}

Tensor hardsigmoid(Operand x) {
  return compute_wide("hardsigmoid", x,
                      [](const Operand& wide) { return shifted_relu6(wide) / 6; });
}

Tensor hardtanh(Operand x, double low, double high) {
  const LocationScope scope(x);
  // Unlike clamp, hardtanh has slope 0 at both ends.
  const Operand least = number_at(low, x);
  const Operand most = number_at(high, x);
  return minimum(with_location(maximum(x, least), x), most);
}

Tensor softsign(Operand x) {
  return compute_wide("softsign", x, [](const Operand& wide) { return wide / (abs(wide) + 1.0); });
}

Tensor swiglu(Operand gate, Operand up) {
  const LocationScope scope(gate);
  const Widening to("swiglu", {&gate, &up});
  const Operand wide = to.wide(gate);
  const Operand factor = to.wide(up);
  return to.narrow(wide * sigmoid(wide) * factor);
}

Tensor geglu(Operand gate, Operand up) {
  const LocationScope scope(gate);
  const Widening to("geglu", {&gate, &up});
  const Operand wide = to.wide(gate);
  const Operand factor = to.wide(up);
  return to.narrow(gelu(wide) * factor);
}

Tensor rotary_embedding(Operand x, Operand cosines, Operand sines) {
  const LocationScope scope(x);
  const Widening to("rotary_embedding", {&x});
  const Node& node = *x.tensor.node();
  const std::optional<Extent> half =
      node.rank() == 0 ? std::nullopt : divide_exactly(node.shape.back(), 2);
  if (!half)
    fail("rotary_embedding",
         fmt::format("the last extent of x, which is {}, must be even", type_text(node)),
         x.location);
  for (const Operand* table : {&cosines, &sines}) {
    const Node* const both[] = {&node, &node_of("rotary_embedding", *table)};
    if (!std::ranges::equal(broadcast_shapes("rotary_embedding", both, x.location), node.shape))
      fail("rotary_embedding",
           fmt::format("{} must broadcast to x, which is {}", type_text(*both[1]), type_text(node)),
           table->location);
  }
  const Operand wide = to.wide(x);
  const int last = node.rank() - 1;
  const Tensor first = slice(wide, last, 0, *half);
  const Tensor second = slice(wide, last, *half, node.shape.back());
  const Tensor rotated = concat({neg(second), first}, last);
  const Tensor along = wide * to.wide(cosines);
  const Tensor across = rotated * to.wide(sines);
  return to.narrow(along + across);
}

Tensor clamp(Operand x, Operand low, Operand high) {
  const LocationScope scope(x);
  // x is the second operand, so its slope is 1 if it equals an end.
  const Tensor raised = maximum(low, x);
  return minimum(high, with_location(raised, x));
}

Tensor lerp(Operand a, Operand b, Operand weight) {
  const LocationScope scope(a.is_literal() ? b : a);
  const Widening to("lerp", {&a, &b, &weight});
  const Operand from = to.wide(a);
  const Operand end = to.wide(b);
  const Tensor range = end - from;
  if (weight.is_literal()) {
    const double share = as_real(weight.literal);
    return to.narrow(share > -0.5 && share < 0.5 ? from + range * share
                                                 : end - range * (1 - share));
  }
  const Operand share = to.wide(weight);
  const Tensor forward = from + range * share;
  const Tensor rest = range * (1.0 - share);
  const Tensor backward = end - rest;
  const Tensor is_near = lt(abs(share), 0.5);
  return to.narrow(where(is_near, forward, backward));
}

Tensor addcmul(Operand x, Operand a, Operand b, Operand value) {
  return add_scaled("addcmul", x, a, mul, b, value);
}

Tensor addcdiv(Operand x, Operand a, Operand b, Operand value) {
  return add_scaled("addcdiv", x, a, div, b, value);
}

Tensor logaddexp(Operand a, Operand b) {
  const LocationScope scope(a.is_literal() ? b : a);
  const Widening to("logaddexp", {&a, &b});
  const Operand left = to.wide(a);
  const Operand right = to.wide(b);
  // For equal operands `largest` gives its cotangent to the left one. The slope of `distance` moves
  // half of it to the right one.
  const Tensor largest = maximum(right, left);
  const Tensor distance = neg_abs(with_location(left - right, a));
  // The difference of two equal infinities is NaN. 0 replaces it; the infinite `largest` determines
  // the result.
  const Tensor is_usable = isfinite(largest);
  const Tensor rest = log1p(exp(where(is_usable, distance, 0)));
  return to.narrow(largest + rest);
}

}  // namespace sinter
