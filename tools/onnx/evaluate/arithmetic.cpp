// Elementwise operators on known values. Integers may be expressions over symbols; where the result
// would depend on their sizes, the node is recorded instead.
#include "ir/shape/extent.h"
#include "ir/types/casts.h"
#include "tools/onnx/evaluate/evaluators.h"
#include "tools/onnx/model/element_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sinter::onnx {

namespace {

using MaybeNumber = std::optional<Number>;

/// True if `number` is a value of an integer dtype. Expressions are sizes, which fit in 32 bits.
bool fits(const Number& number, DType dtype) {
  if (!number.is_integer()) return !number.is_real && size_of(dtype) >= 4;
  const std::int64_t value = number.extent.number();
  const int bits = 8 * size_of(dtype);
  if (dtype == boolean) return value == 0 || value == 1;
  if (is_unsigned(dtype)) return value >= 0 && (bits == 64 || value < std::int64_t{1} << bits);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return value <= most && value >= -most - 1;
}

/// `value` rounded to `dtype`; nullopt for f8.
MaybeNumber rounded(double value, DType dtype) {
  if (is_f8(dtype)) return std::nullopt;
  return Number::of_real(round_as_op(dtype, value));
}

/// Expressions of a floating dtype are sizes, which it holds exactly.
MaybeNumber in_dtype(const Number& number, DType dtype) {
  if (is_floating(dtype)) return number.is_fixed() ? rounded(number.as_real(), dtype) : number;
  if (!fits(number, dtype)) return std::nullopt;
  return number;
}

/// True or false if the order of the two is known for all sizes.
std::optional<bool> is_less(const Number& a, const Number& b) {
  if (a.is_real || b.is_real) {
    if (!a.is_fixed() || !b.is_fixed()) return std::nullopt;
    return a.as_real() < b.as_real();
  }
  if (a.extent == b.extent) return false;
  if (a.is_integer() && b.is_integer()) return a.extent.number() < b.extent.number();
  if (provably_less(a.extent, b.extent)) return true;
  if (provably_nonnegative(a.extent - b.extent)) return false;
  return std::nullopt;
}

std::optional<bool> is_equal(const Number& a, const Number& b) {
  if (a.is_real || b.is_real) {
    if (!a.is_fixed() || !b.is_fixed()) return std::nullopt;
    return a.as_real() == b.as_real();
  }
  if (a.extent == b.extent) return true;
  if (a.is_integer() && b.is_integer()) return false;
  if (provably_less(a.extent, b.extent) || provably_less(b.extent, a.extent)) return false;
  return std::nullopt;
}

MaybeNumber of(std::optional<bool> value) {
  return value ? std::optional(Number::of_bool(*value)) : std::nullopt;
}

/// A whole number as an extent.
std::optional<Extent> as_extent(const Number& number) {
  if (!number.is_real) return number.extent;
  if (std::trunc(number.real) != number.real || !(std::fabs(number.real) < 0x1p53))
    return std::nullopt;
  return Extent(static_cast<std::int64_t>(number.real));
}

/// A formula on reals if one is real and both are fixed, else on extents if both are whole.
template <class Formula>
MaybeNumber apply(const Number& a, const Number& b, Formula formula) {
  if ((a.is_real || b.is_real) && a.is_fixed() && b.is_fixed())
    return Number::of_real(formula(a.as_real(), b.as_real()));
  const auto left = as_extent(a);
  const auto right = as_extent(b);
  if (!left || !right) return std::nullopt;
  return Number::of(formula(*left, *right));
}

MaybeNumber add_numbers(const Number& a, const Number& b) {
  return apply(a, b, [](auto x, auto y) { return x + y; });
}
MaybeNumber sub_numbers(const Number& a, const Number& b) {
  return apply(a, b, [](auto x, auto y) { return x - y; });
}
MaybeNumber mul_numbers(const Number& a, const Number& b) {
  return apply(a, b, [](auto x, auto y) { return x * y; });
}

/// The quotient rounded towards 0, as in C. For an expression it must be known to be the floor.
MaybeNumber div_numbers(const Number& a, const Number& b) {
  if (a.is_real || b.is_real) {
    if (a.is_fixed() && b.is_fixed()) return Number::of_real(a.as_real() / b.as_real());
    // The quotient of reals is not rounded.
    const auto divisor = as_extent(b);
    const auto quotient =
        a.is_real || !divisor || divisor->is(0) ? std::nullopt : divide_exactly(a.extent, *divisor);
    return quotient ? std::optional(Number::of(*quotient)) : std::nullopt;
  }
  if (a.is_integer() && b.is_integer()) {
    const std::int64_t divisor = b.extent.number();
    if (divisor == 0 || divisor == -1) return std::nullopt;
    return Number::of(Extent(a.extent.number() / divisor));
  }
  if (!provably_nonnegative(a.extent) || !provably_less(0, b.extent)) return std::nullopt;
  return Number::of(floor_div(a.extent, b.extent));
}

MaybeNumber mod_numbers(const Number& a, const Number& b) {
  if (a.is_real || b.is_real || !provably_nonnegative(a.extent) || !provably_less(0, b.extent))
    return std::nullopt;
  return Number::of(a.extent - floor_div(a.extent, b.extent) * b.extent);
}

MaybeNumber min_numbers(const Number& a, const Number& b) {
  const std::optional<bool> less = is_less(a, b);
  return less ? std::optional(*less ? a : b) : std::nullopt;
}

MaybeNumber max_numbers(const Number& a, const Number& b) {
  const std::optional<bool> less = is_less(a, b);
  return less ? std::optional(*less ? b : a) : std::nullopt;
}

MaybeNumber equal_numbers(const Number& a, const Number& b) { return of(is_equal(a, b)); }
MaybeNumber less_numbers(const Number& a, const Number& b) { return of(is_less(a, b)); }
MaybeNumber greater_numbers(const Number& a, const Number& b) { return of(is_less(b, a)); }

MaybeNumber negated(MaybeNumber value) {
  return value ? std::optional(Number::of_bool(value->extent.is(0))) : std::nullopt;
}
MaybeNumber at_most(const Number& a, const Number& b) { return negated(greater_numbers(a, b)); }
MaybeNumber at_least(const Number& a, const Number& b) { return negated(less_numbers(a, b)); }

MaybeNumber and_numbers(const Number& a, const Number& b) {
  return Number::of_bool(!a.extent.is(0) && !b.extent.is(0));
}
MaybeNumber or_numbers(const Number& a, const Number& b) {
  return Number::of_bool(!a.extent.is(0) || !b.extent.is(0));
}

bool has_nan(const KnownValue& value) {
  return std::ranges::any_of(
      value.items, [](const Number& item) { return item.is_real && std::isnan(item.real); });
}

using BinaryFormula = MaybeNumber (*)(const Number& a, const Number& b);

/// Combines the inputs from left to right.
template <BinaryFormula formula, bool is_predicate = false>
KnownOutputs evaluate_n_ary(const Call& call) {
  std::vector<const KnownValue*> inputs;
  for (std::size_t i = 0; i < call.input_count(); ++i) inputs.push_back(&call.known(i, "inputs"));
  if (inputs.empty()) return std::nullopt;
  const DType dtype = inputs[0]->dtype;
  for (const KnownValue* input : inputs)
    if (input->dtype != dtype || has_nan(*input)) return std::nullopt;
  const auto shape = broadcast_shape(inputs);
  if (!shape) return std::nullopt;
  KnownValue result{.dtype = is_predicate ? boolean : dtype,
                    .shape = *shape,
                    .items = broadcast_items(*inputs[0], *shape)};
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const std::vector<Number> other = broadcast_items(*inputs[i], *shape);
    for (std::size_t k = 0; k < other.size(); ++k) {
      MaybeNumber item = formula(result.items[k], other[k]);
      if (item) item = in_dtype(*item, result.dtype);
      if (!item) return std::nullopt;
      result.items[k] = *item;
    }
  }
  return std::vector{std::move(result)};
}

template <BinaryFormula formula, bool is_predicate = false>
KnownOutputs evaluate_binary(const Call& call) {
  // Before opset 7, the attribute `axis` may align the operands in another way.
  if (call.input_count() != 2 || (call.opset() < 7 && call.attributes().has("broadcast")))
    return std::nullopt;
  return evaluate_n_ary<formula, is_predicate>(call);
}

using UnaryFormula = MaybeNumber (*)(const Number& a);

template <UnaryFormula formula>
KnownOutputs evaluate_unary(const Call& call) {
  if (call.input_count() != 1) return std::nullopt;
  KnownValue result = call.known(0, "elements");
  for (Number& item : result.items) {
    MaybeNumber value = formula(item);
    if (value) value = in_dtype(*value, result.dtype);
    if (!value) return std::nullopt;
    item = *value;
  }
  return std::vector{std::move(result)};
}

MaybeNumber neg_number(const Number& a) {
  return a.is_real ? Number::of_real(-a.real) : Number::of(Extent(0) - a.extent);
}
MaybeNumber not_number(const Number& a) { return Number::of_bool(a.extent.is(0)); }
MaybeNumber floor_number(const Number& a) {
  return a.is_real ? Number::of_real(std::floor(a.real)) : a;
}
MaybeNumber ceil_number(const Number& a) {
  return a.is_real ? Number::of_real(std::ceil(a.real)) : a;
}
MaybeNumber sqrt_number(const Number& a) {
  return a.is_real ? std::optional(Number::of_real(std::sqrt(a.real))) : std::nullopt;
}
MaybeNumber relu_number(const Number& a) {
  if (a.is_real && std::isnan(a.real)) return std::nullopt;
  return max_numbers(a, a.is_real ? Number::of_real(0) : Number::of(0));
}
MaybeNumber abs_number(const Number& a) {
  if (a.is_real) return Number::of_real(std::fabs(a.real));
  if (provably_nonnegative(a.extent)) return a;
  return a.is_integer() ? std::optional(Number::of(Extent(0) - a.extent)) : std::nullopt;
}

MaybeNumber cast_number(const Number& a, DType from, DType to) {
  if (to == boolean) {
    if (a.is_real) return Number::of_bool(a.real != 0);
    return negated(equal_numbers(a, Number::of(0)));
  }
  if (is_floating(to)) {
    if (!a.is_fixed()) return size_of(to) >= 4 ? std::optional(a) : std::nullopt;
    if (!is_floating(from) || size_of(from) <= size_of(to) || to == f32)
      return rounded(a.as_real(), to);
    return std::nullopt;
  }
  if (!a.is_real) return in_dtype(a, to);
  if (!(std::fabs(a.real) < 0x1p31)) return std::nullopt;
  return in_dtype(Number::of(Extent(static_cast<std::int64_t>(a.real))), to);
}

KnownOutputs cast_to(const KnownValue& x, DType to) {
  KnownValue result{.dtype = to, .shape = x.shape};
  for (const Number& item : x.items) {
    const MaybeNumber value = cast_number(item, x.dtype, to);
    if (!value) return std::nullopt;
    result.items.push_back(*value);
  }
  return std::vector{std::move(result)};
}

KnownOutputs evaluate_cast(const Call& call) {
  const std::int64_t type = call.attributes().integer("to");
  call.attributes().ignore("saturate");
  call.attributes().ignore("round_mode");
  const auto number = static_cast<std::int32_t>(type);
  const auto to = dtype_of(number);
  if (number != type || !to || narrow_bits(number) != 0) return std::nullopt;
  return cast_to(call.known(0, "elements"), *to);
}

KnownOutputs evaluate_cast_like(const Call& call) {
  if (call.input_count() != 2 || call.narrow(1) != ElementType::undefined || is_f8(call.dtype(1)))
    return std::nullopt;
  call.attributes().ignore("saturate");
  call.attributes().ignore("round_mode");
  return cast_to(call.known(0, "elements"), call.dtype(1));
}

KnownOutputs evaluate_where(const Call& call) {
  const std::array inputs{&call.known(0, "conditions"), &call.known(1, "elements"),
                          &call.known(2, "elements")};
  if (inputs[0]->dtype != boolean || inputs[1]->dtype != inputs[2]->dtype) return std::nullopt;
  const auto shape = broadcast_shape(inputs);
  if (!shape) return std::nullopt;
  const std::vector<Number> conditions = broadcast_items(*inputs[0], *shape);
  const std::vector<Number> others = broadcast_items(*inputs[2], *shape);
  KnownValue result{
      .dtype = inputs[1]->dtype, .shape = *shape, .items = broadcast_items(*inputs[1], *shape)};
  for (std::size_t i = 0; i < others.size(); ++i)
    if (conditions[i].extent.is(0)) result.items[i] = others[i];
  return std::vector{std::move(result)};
}

/// For operands that are not negative, both kinds of Mod agree.
KnownOutputs evaluate_mod(const Call& call) {
  call.attributes().ignore("fmod");
  return evaluate_binary<mod_numbers>(call);
}

constexpr EvaluatorRow kArithmetic[] = {
    {"Abs", evaluate_unary<abs_number>},
    {"Add", evaluate_binary<add_numbers>},
    {"And", evaluate_binary<and_numbers, true>},
    {"Cast", evaluate_cast},
    {"CastLike", evaluate_cast_like},
    {"Ceil", evaluate_unary<ceil_number>},
    {"Div", evaluate_binary<div_numbers>},
    {"Equal", evaluate_binary<equal_numbers, true>},
    {"Floor", evaluate_unary<floor_number>},
    {"Greater", evaluate_binary<greater_numbers, true>},
    {"GreaterOrEqual", evaluate_binary<at_least, true>},
    {"Less", evaluate_binary<less_numbers, true>},
    {"LessOrEqual", evaluate_binary<at_most, true>},
    {"Max", evaluate_n_ary<max_numbers>},
    {"Min", evaluate_n_ary<min_numbers>},
    {"Mod", evaluate_mod},
    {"Mul", evaluate_binary<mul_numbers>},
    {"Neg", evaluate_unary<neg_number>},
    {"Not", evaluate_unary<not_number>},
    {"Or", evaluate_binary<or_numbers, true>},
    {"Relu", evaluate_unary<relu_number>},
    {"Sqrt", evaluate_unary<sqrt_number>},
    {"Sub", evaluate_binary<sub_numbers>},
    {"Sum", evaluate_n_ary<add_numbers>},
    {"Where", evaluate_where},
};

}  // namespace

std::span<const EvaluatorRow> arithmetic_evaluators() { return kArithmetic; }

}  // namespace sinter::onnx
