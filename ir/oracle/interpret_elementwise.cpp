// The oracle for elementwise ops. It evaluates the host formula at the operands' values, and at the
// corners of the box of values that the device may have instead.
#include "ir/ops/evaluate_op.h"
#include "ir/oracle/interpret_ops.h"
#include "ir/shape/strided_iterator.h"
#include "ir/types/casts.h"
#include "ir/types/wide_integer.h"
#include "sinter/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace sinter {

namespace {

constexpr std::size_t kMaxOperands = 3;

/// The operands of one element. Bounds are absolute. Operands that are the same node share one
/// variable, so that x * x is never negative and x - x is 0.
struct Arguments {
  std::size_t count = 0;
  std::array<long double, kMaxOperands> values = {};
  std::array<long double, kMaxOperands> bounds = {};
  std::array<std::size_t, kMaxOperands> variable = {};

  std::span<const long double> span() const { return {values.data(), count}; }
  bool is_exact() const { return bounds[0] == 0 && bounds[1] == 0 && bounds[2] == 0; }
  bool is_undecided() const {
    return std::ranges::any_of(bounds, [](long double bound) { return std::isinf(bound); });
  }
};

bool may_be_zero(const Arguments& x, std::size_t i) {
  return std::fabs(x.values[i]) <= x.bounds[i];
}

/// True if the box of operand 0 contains a number of the form `first` + n × `apart`.
bool holds_one_of(const Arguments& x, long double first, long double apart) {
  const long double low = x.values[0] - x.bounds[0];
  const long double high = x.values[0] + x.bounds[0];
  return std::floor((high - first) / apart) != std::floor((low - first) / apart) ||
         std::fmod(low - first, apart) == 0;
}

/// True if the formula may jump or be infinite inside the box, which the corners do not reveal.
bool has_pole(Op op, const Arguments& x) {
  constexpr long double kPi = std::numbers::pi_v<long double>;
  switch (op) {
    case Op::div: return x.bounds[1] > 0 && may_be_zero(x, 1);
    case Op::pow: return x.bounds[0] > 0 && may_be_zero(x, 0) && x.values[1] - x.bounds[1] <= 0;
    case Op::tan: return x.bounds[0] > 0 && holds_one_of(x, kPi / 2, kPi);
    case Op::lgamma:
    case Op::digamma:
      return x.bounds[0] > 0 && x.values[0] - x.bounds[0] <= 0 && holds_one_of(x, 0, 1);
    case Op::atan2: return may_be_zero(x, 0) && may_be_zero(x, 1) && !x.is_exact();
    default: return false;
  }
}

/// True if the device's math library documents no error bound for these operands.
bool has_undocumented_error(Op op, const Arguments& x) {
  const long double least = x.values[0] - x.bounds[0];
  return (op == Op::lgamma && least < -2.25L) || (op == Op::digamma && least < -20);
}

/// True if the box spans a jump of an op that has jumps.
bool may_jump(const OpInfo& row, const Arguments& x, const Interval& over) {
  if (row.traits & HasJumps) return over.low != over.high;
  if (!(row.traits & RatioJumps)) return false;
  if (x.bounds[1] > 0 && may_be_zero(x, 1)) return true;
  const long double a[] = {x.values[0] - x.bounds[0], x.values[0] + x.bounds[0]};
  const long double b[] = {x.values[1] - x.bounds[1], x.values[1] + x.bounds[1]};
  const long double whole = std::floor(a[0] / b[0]);
  for (const long double dividend : a)
    for (const long double divisor : b) {
      const long double quotient = dividend / divisor;
      // The quotient is so close to an integer that its own rounding may hide a jump.
      const bool is_near =
          std::fabs(quotient - std::round(quotient)) <= std::fabs(quotient) * 0x1p-60L;
      if (is_near || std::floor(quotient) != whole) return true;
    }
  return false;
}

/// The formula at one corner of the box. The library's long double fma takes 0.4 µs, too much for
/// eight corners. A product and a sum replace it, and the interval includes their rounding errors.
Interval at_corner(const OpInfo& row, const Arguments& x, DType dtype) {
  if (row.op != Op::fma) return certain(row.host(x.span(), dtype));
  const long double product = x.values[0] * x.values[1];
  const long double value = product + x.values[2];
  const long double error = (std::fabs(product) + std::fabs(x.values[2])) * 0x1p-62L;
  return std::isfinite(error) ? within(value, error) : certain(value);
}

/// The formula over the box of values that the operands may have. Most ops are monotone in each
/// operand where they are continuous, or convex (abs, lgamma), so they change most towards a
/// corner. The others are sinusoids, whose slope is at most 1.
Interval over_box(const OpInfo& row, const Arguments& x, long double value, DType dtype) {
  Interval result = certain(value);
  if (x.is_exact()) return result;
  if (row.traits & Sinusoid) {
    result.low = std::max(value - x.bounds[0], -1.0L);
    result.high = std::min(value + x.bounds[0], 1.0L);
    return result;
  }
  Arguments corner = x;
  for (unsigned choice = 0; choice < (1U << x.count); ++choice) {
    bool is_new = true;
    for (std::size_t i = 0; i < x.count; ++i) {
      const bool up = choice >> x.variable[i] & 1;
      corner.values[i] = up ? x.values[i] + x.bounds[i] : x.values[i] - x.bounds[i];
      // Exact operands and repeated operands need only one of the two choices.
      const bool is_free = x.variable[i] == i && x.bounds[i] > 0;
      if (!is_free && (choice >> i & 1)) is_new = false;
    }
    if (!is_new) continue;
    const Interval there = at_corner(row, corner, dtype);
    // Only one of the two is NaN, so to_element returns an undecided element.
    if (std::isnan(there.value) != std::isnan(value))
      return {.value = value, .low = there.value, .high = value};
    result.low = std::min(result.low, there.low);
    result.high = std::max(result.high, there.high);
  }
  return result;
}

/// Widens both ends by a relative 2^-62, for the rounding of the formula itself in long double.
void widen(Interval& interval) {
  constexpr long double kSlack = 0x1p-62L;
  // Infinities are exact.
  if (std::isfinite(interval.low)) interval.low -= std::fabs(interval.low) * kSlack;
  if (std::isfinite(interval.high)) interval.high += std::fabs(interval.high) * kSlack;
}

/// `value` rounded to `dtype` and moved by `ulp` units of it. Device functions return 0 and
/// infinities exactly, except that functions with UlpOfOne have an absolute error near their
/// roots.
long double add_ulps(const OpInfo& row, DType dtype, long double value, int ulp) {
  if (!std::isfinite(value)) return value;
  if (row.traits & UlpOfOne && std::fabs(value) < 1) return value + ulp * ulp_at(dtype, 1);
  if (value == 0) return value;
  const long double nearest = round_to(dtype, value);
  const long double center = std::isfinite(nearest) ? nearest : value;
  const long double unit = ulp_at(dtype, center);
  return center + ulp * ulp_at(dtype, std::fabs(center) + std::abs(ulp) * unit);
}

Element real_element(const OpInfo& row, const Arguments& x, DType dtype) {
  const long double exact = row.host(x.span(), dtype);
  const double value = round_result(row, x.span(), exact, dtype);
  const bool is_certain = x.is_exact() && row.ulp == 0;
  if (is_certain) return {.value = value, .bound = 0};
  if (x.is_undecided() || has_undocumented_error(row.op, x) || has_pole(row.op, x))
    return {.value = value, .bound = kUndecided};
  Interval interval = over_box(row, x, exact, dtype);
  if (!x.is_exact() && may_jump(row, x, interval)) return {.value = value, .bound = kUndecided};
  widen(interval);
  const DType compute = info(dtype).compute;
  if (row.ulp > 0) {
    interval.low = add_ulps(row, compute, interval.low, -row.ulp);
    interval.high = add_ulps(row, compute, interval.high, row.ulp);
  }
  Interval result = rounded(interval, compute);
  if (compute != dtype) result = rounded(result, dtype);
  result.value = value;
  return to_element(result);
}

/// A predicate of one operand, decided if the value and both ends of the operand agree.
IntegerElement predicate(const OpInfo& row, const Arguments& x, DType dtype) {
  const auto at = [&](long double value) {
    return static_cast<std::int64_t>(row.host({&value, 1}, dtype));
  };
  const std::int64_t value = at(x.values[0]);
  const bool decided =
      x.bounds[0] == 0 || (std::isfinite(x.bounds[0]) && at(x.values[0] - x.bounds[0]) == value &&
                           at(x.values[0] + x.bounds[0]) == value);
  return {.value = value, .bound = decided ? 0 : kUndecided};
}

IntegerElement comparison(const OpInfo& row, const Arguments& x, DType dtype) {
  if (row.types == TypeRule::Predicate) return predicate(row, x, dtype);
  const auto value = static_cast<std::int64_t>(row.host(x.span(), dtype));
  // A NaN that is not undecided is NaN on the device too.
  const bool has_nan = std::isnan(x.values[0]) || std::isnan(x.values[1]);
  const long double distance = std::fabs(x.values[0] - x.values[1]);
  const bool decided = x.is_exact() || ((has_nan || x.variable[1] == 0) && !x.is_undecided()) ||
                       distance > x.bounds[0] + x.bounds[1];
  return {.value = value, .bound = decided ? 0 : kUndecided};
}

/// Integers are exact or undecided. A logical op is decided if its result does not depend on the
/// undecided operands.
IntegerElement integer_element(const OpInfo& row, std::span<const Wide> values,
                               std::span<const double> bounds, DType dtype, int bits) {
  const Wide value = wrap_to(dtype, row.host_integer(values, bits));
  if (std::ranges::all_of(bounds, [](double bound) { return bound == 0; }))
    return {.value = value, .bound = 0};
  if (row.types != TypeRule::Logical) return {.value = value, .bound = kUndecided};
  std::array<Wide, kMaxOperands> other = {};
  for (unsigned choice = 0; choice < (1U << values.size()); ++choice) {
    for (std::size_t i = 0; i < values.size(); ++i)
      other[i] = bounds[i] == 0 ? values[i] : choice >> i & 1;
    if (wrap_to(dtype, row.host_integer({other.data(), values.size()}, bits)) != value)
      return {.value = value, .bound = kUndecided};
  }
  return {.value = value, .bound = 0};
}

/// Calls `body(iterator, i)` for every element i; iterator.offset(k) is the offset in operand k.
template <class Body>
void for_each_element(const NodeEvaluation& evaluation, std::int64_t cost, const Body& body) {
  std::vector<std::vector<std::int64_t>> strides;
  for (const Expected* operand : evaluation.operands)
    strides.push_back(broadcast_strides(operand->shape, evaluation.shape));
  in_parallel(element_count(evaluation.shape), cost, [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    StridedIterator iterator(evaluation.shape, strides);
    iterator.seek(begin);
    for (std::int64_t i = begin; i < end; ++i, iterator.next())
      body(iterator, static_cast<std::size_t>(i));
  });
}

/// Computes where. If the condition is undecided, the result is decided only if both sides are
/// exact and equal.
void select(const NodeEvaluation& evaluation, Expected& result) {
  const std::span<const Expected* const> operands = evaluation.operands;
  const Expected& condition = *operands[0];
  for_each_element(evaluation, 20, [&](const StridedIterator& iterator, std::size_t i) {
    const std::size_t side =
        condition.integers[static_cast<std::size_t>(iterator.offset(0))] ? 1 : 2;
    const Expected& chosen = *operands[side];
    const Expected& other = *operands[3 - side];
    const std::int64_t at = iterator.offset(side);
    const std::int64_t at_other = iterator.offset(3 - side);
    const bool are_exact = chosen.bound(at) == 0 && other.bound(at_other) == 0;
    const auto bound = [&](bool are_equal) {
      const bool decided = !condition.is_undecided(iterator.offset(0));
      return decided || (are_exact && are_equal) ? chosen.bound(at) : kUndecided;
    };
    if (is_floating(result.dtype)) {
      // A constant operand may have the compute dtype, so it is rounded here.
      const double value = round_to(result.dtype, chosen.real(at));
      const bool are_equal = round_to(result.dtype, other.real(at_other)) == value;
      return set_element(result, i, Element{.value = value, .bound = bound(are_equal)});
    }
    const Wide value = chosen.wide(at);
    set_element(result, i,
                IntegerElement{.value = value, .bound = bound(other.wide(at_other) == value)});
  });
}

void compute_from_reals(const NodeEvaluation& evaluation, Expected& result) {
  const OpInfo& row = info(evaluation.node.op);
  const std::span<const Expected* const> operands = evaluation.operands;
  Arguments pattern;
  pattern.count = operands.size();
  // pow is an exception: x^x has a minimum that no corner reveals.
  for (std::size_t i = 0; i < operands.size(); ++i)
    pattern.variable[i] =
        row.op == Op::pow
            ? i
            : static_cast<std::size_t>(std::ranges::find(operands, operands[i]) - operands.begin());
  const std::int64_t cost = row.ulp > 0 ? 500 : result.bounds.empty() ? 40 : 150;
  for_each_element(evaluation, cost, [&](const StridedIterator& iterator, std::size_t i) {
    Arguments x = pattern;
    for (std::size_t k = 0; k < x.count; ++k) {
      x.values[k] = operands[k]->reals[static_cast<std::size_t>(iterator.offset(k))];
      x.bounds[k] = operands[k]->bound(iterator.offset(k));
    }
    if (is_floating(result.dtype))
      set_element(result, i, real_element(row, x, result.dtype));
    else
      set_element(result, i, comparison(row, x, operands[0]->dtype));
  });
}

void compute_from_integers(const NodeEvaluation& evaluation, Expected& result) {
  const OpInfo& row = info(evaluation.node.op);
  const std::span<const Expected* const> operands = evaluation.operands;
  const DType dtype = operands.back()->dtype;
  const int bits = width_of(dtype);
  const std::int64_t cost = row.op == Op::philox ? 100 : 40;
  for_each_element(evaluation, cost, [&](const StridedIterator& iterator, std::size_t i) {
    std::array<Wide, kMaxOperands> values = {};
    std::array<double, kMaxOperands> bounds = {};
    for (std::size_t k = 0; k < operands.size(); ++k) {
      values[k] = from_storage_bits(
          dtype, operands[k]->integers[static_cast<std::size_t>(iterator.offset(k))]);
      bounds[k] = operands[k]->bound(iterator.offset(k));
    }
    set_element(result, i,
                integer_element(row, {values.data(), operands.size()},
                                {bounds.data(), operands.size()}, result.dtype, bits));
  });
}

}  // namespace

Expected interpret_elementwise(const NodeEvaluation& evaluation) {
  const OpInfo& row = info(evaluation.node.op);
  ensure(evaluation.operands.size() <= kMaxOperands, "elementwise ops have at most 3 operands");
  Expected result = make_expected(evaluation.node.dtype, evaluation.shape,
                                  has_bounds(evaluation.operands) || row.ulp > 0);
  if (row.types == TypeRule::Where)
    select(evaluation, result);
  else if (is_floating(evaluation.operands[0]->dtype))
    compute_from_reals(evaluation, result);
  else
    compute_from_integers(evaluation, result);
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
