// Activations and the softmax family.
#include "sinter/nn.h"
#include "tools/onnx/node/limits.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/ops/op_table.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

template <Tensor (*function)(Operand)>
Outputs record_activation(const Call& call) {
  require_inputs(call, 1, 1);
  return {function(call.tensor(0))};
}

/// x where it is above 0, else `otherwise`.
Tensor above_zero_or(const Tensor& x, const Tensor& otherwise) {
  return where(x > 0, x, otherwise);
}

Outputs record_leaky_relu(const Call& call) {
  require_inputs(call, 1, 1);
  return {leaky_relu(call.tensor(0), call.attributes().real("alpha", 0.01F))};
}

/// The slope broadcasts to x.
Outputs record_p_relu(const Call& call) {
  require_inputs(call, 2, 2);
  require_one_dtype(call);
  const Tensor x = call.tensor(0);
  Operand slope = call.operand(1, x.rank());
  // Before opset 7, a vector has one slope per channel.
  if (call.opset() < 7 && !slope.is_literal() && slope.tensor.rank() == 1)
    slope = aligned_to_axis(slope.tensor, 1, x.rank());
  return {where(x < 0, x * slope, x)};
}

Outputs record_elu(const Call& call) {
  require_inputs(call, 1, 1);
  return {elu(call.tensor(0), call.attributes().real("alpha", 1))};
}

Outputs record_selu(const Call& call) {
  require_inputs(call, 1, 1);
  const bool is_old = call.opset() < 6;
  const double alpha = call.attributes().real("alpha", is_old ? 1.6732 : 1.67326319217681884765625);
  const double gamma = call.attributes().real("gamma", is_old ? 1.0507 : 1.05070102214813232421875);
  const Tensor x = call.tensor(0);
  return {above_zero_or(x, expm1(x) * alpha) * gamma};
}

/// max(0, x) + min(0, alpha · (exp(x / alpha) − 1))
Outputs record_celu(const Call& call) {
  require_inputs(call, 1, 1);
  const double alpha = call.attributes().real("alpha", 1);
  const Tensor x = call.tensor(0);
  return {above_zero_or(x, expm1(x / alpha) * alpha)};
}

Outputs record_thresholded_relu(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  return {where(x > call.attributes().real("alpha", 1), x, 0.0)};
}

Outputs record_hard_sigmoid(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const double alpha = call.attributes().real("alpha", 0.2F);
  return {clamp(x * alpha + call.attributes().real("beta", 0.5), 0.0, 1.0)};
}

/// Finite for all x, unlike log(1 + eˣ).
Tensor softplus_of(Operand x) { return softplus(x); }

/// x · sigmoid(alpha · x)
Outputs record_swish(const Call& call) {
  require_inputs(call, 1, 1);
  return {swish(call.tensor(0), call.attributes().real("alpha", 1))};
}

/// swish(gate) · x
Outputs record_swi_glu(const Call& call) {
  require_inputs(call, 2, 2);
  require_one_dtype(call);
  return {swish(call.tensor(0), call.attributes().real("alpha", 1)) * call.tensor(1)};
}

Outputs record_gelu(const Call& call) {
  require_inputs(call, 1, 1);
  const std::string approximate = call.attributes().text("approximate", "none");
  if (approximate == "none") return {gelu(call.tensor(0))};
  if (approximate == "tanh") return {gelu_tanh(call.tensor(0))};
  refuse(fmt::format("approximate is '{}'; it must be none or tanh", approximate));
}

/// x + bias below −lambd, x − bias above lambd, else 0.
Outputs record_shrink(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const double limit = call.attributes().real("lambd", 0.5);
  const double bias = call.attributes().real("bias", 0);
  const Tensor real = is_floating(x.dtype()) ? x : cast(x, f64);
  const Tensor moved = where(real < -limit, real + bias, where(real > limit, real - bias, 0.0));
  return {cast(moved, x.dtype())};
}

using AlongAxis = Tensor (*)(const Call& call, const Tensor& x, int axis);

Tensor softmax_along(const Call&, const Tensor& x, int axis) { return softmax(x, axis); }
Tensor log_softmax_along(const Call&, const Tensor& x, int axis) { return log_softmax(x, axis); }

/// 1 at the first largest element along the axis, else 0.
Tensor hardmax_along(const Call& call, const Tensor& x, int axis) {
  const Tensor largest = argmax(x, {axis}, keep);
  return cast(eq(positions_along(call, x, axis), largest), x.dtype());
}

/// Before opset 13, the input is a matrix: the axes from `axis` on are its columns.
template <AlongAxis function>
Outputs record_softmax_like(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  if (call.opset() >= 13)
    return {function(call, x, checked_axis(call.attributes().integer("axis", -1), x.rank()))};
  const int axis = checked_axis(call.attributes().integer("axis", 1), x.rank());
  std::vector<Extent> matrix(x.shape().begin(), x.shape().begin() + axis);
  Extent columns = 1;
  for (const Extent extent : x.shape().subspan(static_cast<std::size_t>(axis)))
    columns = columns * extent;
  matrix.push_back(columns);
  return {reshape(function(call, reshape(x, matrix), axis), x.shape())};
}

constexpr OpRow kActivations[] = {
    {"Celu", record_celu},
    {"Elu", record_elu},
    {"Gelu", record_gelu},
    {"HardSigmoid", record_hard_sigmoid},
    {"HardSwish", record_activation<hardswish>},
    {"Hardmax", record_softmax_like<hardmax_along>},
    {"LeakyRelu", record_leaky_relu},
    {"LogSoftmax", record_softmax_like<log_softmax_along>},
    {"Mish", record_activation<mish>},
    {"PRelu", record_p_relu},
    {"Relu", record_activation<relu>},
    {"Selu", record_selu},
    {"Shrink", record_shrink},
    {"Sigmoid", record_activation<sigmoid>},
    {"Softmax", record_softmax_like<softmax_along>},
    {"Softplus", record_activation<softplus_of>},
    {"Softsign", record_activation<softsign>},
    {"SwiGLU", record_swi_glu},
    {"Swish", record_swish},
    {"ThresholdedRelu", record_thresholded_relu},
};

}  // namespace

std::span<const OpRow> activation_ops() { return kActivations; }

}  // namespace sinter::onnx
