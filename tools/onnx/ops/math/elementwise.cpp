// Arithmetic, comparison, logical and bitwise operators.
#include "sinter/nn.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

template <Tensor (*function)(Operand)>
Outputs record_unary_op(const Call& call) {
  require_inputs(call, 1, 1);
  return {function(call.tensor(0))};
}

template <Tensor (*function)(Operand, Operand)>
Outputs record_binary_op(const Call& call) {
  require_inputs(call, 2, 2);
  const std::vector<Operand> operands = elementwise_operands(call);
  return {function(operands[0], operands[1])};
}

/// Combines any number of inputs from left to right.
template <Tensor (*function)(Operand, Operand)>
Tensor combined(const Call& call) {
  require_inputs(call, 1, 1 << 16);
  const std::vector<Operand> operands = elementwise_operands(call);
  if (operands.size() == 1) return call.tensor(0);
  Tensor result = function(operands[0], operands[1]);
  for (std::size_t i = 2; i < operands.size(); ++i) result = function(result, operands[i]);
  return result;
}

template <Tensor (*function)(Operand, Operand)>
Outputs record_n_ary_op(const Call& call) {
  return {combined<function>(call)};
}

Outputs record_mean_of_inputs(const Call& call) {
  return {combined<add>(call) / static_cast<double>(call.input_count())};
}

/// Operand `i` as a Tensor, aligned with the other one.
Tensor tensor_of(const Call& call, const std::vector<Operand>& operands, std::size_t i) {
  return operands[i].is_literal() ? call.tensor(i) : operands[i].tensor;
}

/// The quotient of integers is rounded towards 0.
Tensor truncated_quotient(const Tensor& a, const Tensor& b) {
  const Tensor quotient = floordiv(a, b);
  if (is_unsigned(quotient.dtype())) return quotient;
  const Tensor is_below = logical_and(ne(quotient * b, a), ne(lt(a, 0), lt(b, 0)));
  return where(is_below, quotient + 1, quotient);
}

Outputs record_div(const Call& call) {
  require_inputs(call, 2, 2);
  const std::vector<Operand> operands = elementwise_operands(call);
  if (is_floating(call.dtype(0))) return {div(operands[0], operands[1])};
  return {truncated_quotient(tensor_of(call, operands, 0), tensor_of(call, operands, 1))};
}

/// The remainder has the sign of the divisor, or that of the dividend with fmod = 1.
Outputs record_mod(const Call& call) {
  require_inputs(call, 2, 2);
  const bool is_fmod = call.attributes().flag("fmod", false);
  const std::vector<Operand> operands = elementwise_operands(call);
  return {is_fmod ? fmod(operands[0], operands[1]) : remainder(operands[0], operands[1])};
}

/// The result has the dtype of the base.
Outputs record_pow(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor base = call.tensor(0);
  const Operand exponent = call.operand(1, base.rank());
  if (is_floating(base.dtype())) {
    const bool is_square = exponent.is_literal() && call.real(1, "exponent") == 2;
    if (is_square) return {square(base)};
    if (exponent.is_literal()) return {pow(base, exponent)};
    return {cast(pow(base, cast(exponent, base.dtype())), base.dtype())};
  }
  const Tensor power = pow(cast(base, f64), cast(call.tensor(1), f64));
  // The product of integers is an integer; the function may miss it by some ulp.
  return {cast(is_integer(call.dtype(1)) ? round(power) : power, base.dtype())};
}

Outputs record_not(const Call& call) {
  require_inputs(call, 1, 1);
  return {logical_not(call.tensor(0))};
}

Outputs record_bit_shift(const Call& call) {
  require_inputs(call, 2, 2);
  const std::string direction = call.attributes().text("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    refuse(fmt::format("direction is '{}'; it must be LEFT or RIGHT", direction));
  const std::vector<Operand> operands = elementwise_operands(call);
  return {direction == "LEFT" ? left_shift(operands[0], operands[1])
                              : right_shift(operands[0], operands[1])};
}

Outputs record_is_inf(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const bool negative = call.attributes().flag("detect_negative", true);
  const bool positive = call.attributes().flag("detect_positive", true);
  if (negative && positive) return {isinf(x)};
  if (negative) return {logical_and(isinf(x), x < 0)};
  if (positive) return {logical_and(isinf(x), x > 0)};
  return {full(call.graph(), x.shape(), false, boolean)};
}

Outputs record_where(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor condition = call.tensor(0);
  require_one_dtype(call, 1);
  return {where(condition, call.tensor(1), call.tensor(2))};
}

/// The bounds are attributes before opset 11, then optional inputs. The upper bound wins.
Outputs record_clip(const Call& call) {
  require_inputs(call, 1, 3);
  Tensor x = call.tensor(0);
  const bool has_attributes = call.opset() < 11;
  if (has_attributes) {
    if (call.attributes().has("min")) x = maximum(x, call.attributes().real("min", 0));
    if (call.attributes().has("max")) x = minimum(x, call.attributes().real("max", 0));
    return {x};
  }
  require_one_dtype(call, 0);
  if (call.has_input(1)) x = maximum(x, call.operand(1, x.rank()));
  if (call.has_input(2)) x = minimum(x, call.operand(2, x.rank()));
  return {x};
}

constexpr OpRow kElementwise[] = {
    {"Abs", record_unary_op<abs>},
    {"Acos", record_unary_op<acos>},
    {"Acosh", record_unary_op<acosh>},
    {"Add", record_binary_op<add>},
    {"And", record_binary_op<logical_and>},
    {"Asin", record_unary_op<asin>},
    {"Asinh", record_unary_op<asinh>},
    {"Atan", record_unary_op<atan>},
    {"Atanh", record_unary_op<atanh>},
    {"BitShift", record_bit_shift},
    {"BitwiseAnd", record_binary_op<bitwise_and>},
    {"BitwiseNot", record_unary_op<bitwise_not>},
    {"BitwiseOr", record_binary_op<bitwise_or>},
    {"BitwiseXor", record_binary_op<bitwise_xor>},
    {"Ceil", record_unary_op<ceil>},
    {"Clip", record_clip},
    {"Cos", record_unary_op<cos>},
    {"Cosh", record_unary_op<cosh>},
    {"Div", record_div},
    {"Equal", record_binary_op<eq>},
    {"Erf", record_unary_op<erf>},
    {"Exp", record_unary_op<exp>},
    {"Floor", record_unary_op<floor>},
    {"Greater", record_binary_op<gt>},
    {"GreaterOrEqual", record_binary_op<ge>},
    {"IsInf", record_is_inf},
    {"IsNaN", record_unary_op<isnan>},
    {"Less", record_binary_op<lt>},
    {"LessOrEqual", record_binary_op<le>},
    {"Log", record_unary_op<log>},
    {"Max", record_n_ary_op<maximum>},
    {"Mean", record_mean_of_inputs},
    {"Min", record_n_ary_op<minimum>},
    {"Mod", record_mod},
    {"Mul", record_binary_op<mul>},
    {"Neg", record_unary_op<neg>},
    {"Not", record_not},
    {"Or", record_binary_op<logical_or>},
    {"Pow", record_pow},
    {"Reciprocal", record_unary_op<reciprocal>},
    {"Round", record_unary_op<round>},
    {"Sign", record_unary_op<sign>},
    {"Sin", record_unary_op<sin>},
    {"Sinh", record_unary_op<sinh>},
    {"Sqrt", record_unary_op<sqrt>},
    {"Sub", record_binary_op<sub>},
    {"Sum", record_n_ary_op<add>},
    {"Tan", record_unary_op<tan>},
    {"Tanh", record_unary_op<tanh>},
    {"Where", record_where},
    {"Xor", record_binary_op<logical_xor>},
};

}  // namespace

std::span<const OpRow> elementwise_ops() { return kElementwise; }

}  // namespace sinter::onnx
