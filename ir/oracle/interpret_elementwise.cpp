// The oracle for elementwise ops: the host formula at each operand's value, and at the
// corners of what the device may have in its place.
#include "ir/ops/evaluate_op.h"
#include "ir/oracle/interpret_ops.h"
#include "ir/shape/strided_walk.h"
#include "ir/types/rounding.h"
#include "ir/types/wide_integer.h"
#include "sinter/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace sinter {

namespace {

constexpr std::size_t kMostOperands = 3;

/// The operands of one element. Bounds are absolute; operands that are the same node are one
/// variable, so that x * x is never negative and x - x is 0.
struct Arguments {
  std::size_t count = 0;
  std::array<long double, kMostOperands> values = {};
  std::array<long double, kMostOperands> bounds = {};
  std::array<std::size_t, kMostOperands> variable = {};

  std::span<const long double> span() const { return {values.data(), count}; }
  bool is_exact() const { return bounds[0] == 0 && bounds[1] == 0 && bounds[2] == 0; }
  bool is_undecided() const {
    return std::ranges::any_of(bounds, [](long double bound) { return std::isinf(bound); });
  }
};

bool may_be_zero(const Arguments& x, std::size_t i) {
  return std::fabs(x.values[i]) <= x.bounds[i];
}

/// True if a number of the form `first` + n × `apart` lies in the box of operand 0.
bool holds_one_of(const Arguments& x, long double first, long double apart) {
  const long double low = x.values[0] - x.bounds[0];
  const long double high = x.values[0] + x.bounds[0];
  return std::floor((high - first) / apart) != std::floor((low - first) / apart) ||
         std::fmod(low - first, apart) == 0;
}

/// True if the formula jumps or is infinite somewhere inside the box, where no corner shows it.
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

/// True where a device's library promises nothing of its error.
bool is_vague(Op op, const Arguments& x) {
  const long double least = x.values[0] - x.bounds[0];
  return (op == Op::lgamma && least < -2.25L) || (op == Op::digamma && least < -20);
}

/// True if the box spans a jump of an op that has jumps.
bool may_jump(const OpInfo& row, const Arguments& x, const Interval& over) {
  if (row.traits & Jumps) return over.low != over.high;
  if (!(row.traits & Divides)) return false;
  if (x.bounds[1] > 0 && may_be_zero(x, 1)) return true;
  const long double a[] = {x.values[0] - x.bounds[0], x.values[0] + x.bounds[0]};
  const long double b[] = {x.values[1] - x.bounds[1], x.values[1] + x.bounds[1]};
  const long double whole = std::floor(a[0] / b[0]);
  for (const long double dividend : a)
    for (const long double divisor : b) {
      const long double quotient = dividend / divisor;
      // So near to a whole number that the quotient itself cannot tell.
      const bool is_near =
          std::fabs(quotient - std::round(quotient)) <= std::fabs(quotient) * 0x1p-60L;
      if (is_near || std::floor(quotient) != whole) return true;
    }
  return false;
}

/// The formula at one corner of the box. The library's fma of long doubles takes 0.4 µs, too much
/// for eight corners; two roundings, allowed for, will do.
Interval at_corner(const OpInfo& row, const Arguments& x, DType dtype) {
  if (row.op != Op::fma) {
    const long double value = row.host(x.span(), dtype);
    return {.value = value, .low = value, .high = value};
  }
  const long double product = x.values[0] * x.values[1];
  const long double value = product + x.values[2];
  const long double error = (std::fabs(product) + std::fabs(x.values[2])) * 0x1p-62L;
  if (!std::isfinite(error)) return {.value = value, .low = value, .high = value};
  return {.value = value, .low = value - error, .high = value + error};
}

/// The formula over the box of values that the operands may have. The ops of the table are monotone
/// in each operand where they are continuous, or convex as abs and lgamma are, so that they change
/// most towards a corner; or they are waves, which are never steeper than 1.
Interval over_box(const OpInfo& row, const Arguments& x, long double value, DType dtype) {
  Interval result{.value = value, .low = value, .high = value};
  if (x.is_exact()) return result;
  if (row.traits & Waves) {
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
      // Of operands without an error, and of repeated ones, one choice stands for both.
      const bool is_free = x.variable[i] == i && x.bounds[i] > 0;
      if (!is_free && (choice >> i & 1)) is_new = false;
    }
    if (!is_new) continue;
    const Interval there = at_corner(row, corner, dtype);
    // A NaN on one side only; to_element makes it undecided.
    if (std::isnan(there.value) != std::isnan(value))
      return {.value = value, .low = there.value, .high = value};
    result.low = std::min(result.low, there.low);
    result.high = std::max(result.high, there.high);
  }
  return result;
}

/// Half a unit of long double at each end, for the formula's own rounding.
void widen(Interval& interval) {
  constexpr long double kSlack = 0x1p-62L;
  // Infinities are exact.
  if (std::isfinite(interval.low)) interval.low -= std::fabs(interval.low) * kSlack;
  if (std::isfinite(interval.high)) interval.high += std::fabs(interval.high) * kSlack;
}

/// `value` rounded to `dtype`, and then off by up to `ulp` units of it. A device function gives its
/// exact values (0 and infinities) exactly, unless it is an approximation around its roots.
long double off_by(const OpInfo& row, DType dtype, long double value, int ulp) {
  if (!std::isfinite(value)) return value;
  if (row.traits & NearRoots && std::fabs(value) < 1) return value + ulp * ulp_at(dtype, 1);
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
  if (x.is_undecided() || is_vague(row.op, x) || has_pole(row.op, x))
    return {.value = value, .bound = kUndecided};
  Interval interval = over_box(row, x, exact, dtype);
  if (!x.is_exact() && may_jump(row, x, interval)) return {.value = value, .bound = kUndecided};
  widen(interval);
  const DType compute = info(dtype).compute;
  if (row.ulp > 0) {
    interval.low = off_by(row, compute, interval.low, -row.ulp);
    interval.high = off_by(row, compute, interval.high, row.ulp);
  }
  Interval result = rounded(interval, compute);
  if (compute != dtype) result = rounded(result, dtype);
  result.value = value;
  return to_element(result);
}

struct Answer {
  Wide value;
  double bound;
};

/// Of a rounded result both ends may still tell the same.
Answer predicate(const OpInfo& row, const Arguments& x, DType dtype) {
  const auto at = [&](long double value) {
    return static_cast<std::int64_t>(row.host({&value, 1}, dtype));
  };
  const std::int64_t value = at(x.values[0]);
  if (x.bounds[0] == 0) return {.value = value, .bound = 0};
  const bool decided = std::isfinite(x.bounds[0]) && at(x.values[0] - x.bounds[0]) == value &&
                       at(x.values[0] + x.bounds[0]) == value;
  return {.value = value, .bound = decided ? 0 : kUndecided};
}

Answer comparison(const OpInfo& row, const Arguments& x, DType dtype) {
  if (row.types == TypeRule::Predicate) return predicate(row, x, dtype);
  const auto value = static_cast<std::int64_t>(row.host(x.span(), dtype));
  if (x.is_exact()) return {.value = value, .bound = 0};
  // A NaN is a NaN on the device too, unless it is undecided itself.
  const bool has_nan = std::isnan(x.values[0]) || std::isnan(x.values[1]);
  if (has_nan && !x.is_undecided()) return {.value = value, .bound = 0};
  if (x.variable[1] == 0 && !x.is_undecided()) return {.value = value, .bound = 0};
  const long double distance = std::fabs(x.values[0] - x.values[1]);
  const bool decided = distance > x.bounds[0] + x.bounds[1];
  return {.value = value, .bound = decided ? 0 : kUndecided};
}

/// Integers are exact or undecided. A logical op is decided if its undecided operands do not
/// matter.
Answer integer_element(const OpInfo& row, std::span<const Wide> values,
                       std::span<const double> bounds, DType dtype, int bits) {
  const Wide value = wrap_to(dtype, row.host_integer(values, bits));
  if (std::ranges::all_of(bounds, [](double bound) { return bound == 0; }))
    return {.value = value, .bound = 0};
  if (row.types != TypeRule::Logical) return {.value = value, .bound = kUndecided};
  std::array<Wide, kMostOperands> other = {};
  for (unsigned choice = 0; choice < (1U << values.size()); ++choice) {
    for (std::size_t i = 0; i < values.size(); ++i)
      other[i] = bounds[i] == 0 ? values[i] : choice >> i & 1;
    if (wrap_to(dtype, row.host_integer({other.data(), values.size()}, bits)) != value)
      return {.value = value, .bound = kUndecided};
  }
  return {.value = value, .bound = 0};
}

void store(Expected& result, std::int64_t i, double value, double bound) {
  result.reals[static_cast<std::size_t>(i)] = value;
  if (!result.bounds.empty()) result.bounds[static_cast<std::size_t>(i)] = bound;
}

void store(Expected& result, std::int64_t i, std::int64_t value, double bound) {
  result.integers[static_cast<std::size_t>(i)] = value;
  if (!result.bounds.empty()) result.bounds[static_cast<std::size_t>(i)] = bound;
}

/// Numpy's rule: shapes are aligned at the right; an axis of extent 1 is read at 0.
std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> from,
                                            std::span<const std::int64_t> to) {
  const std::vector<std::int64_t> dense = row_major(from);
  std::vector<std::int64_t> strides(to.size());
  const std::size_t shift = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1) strides[shift + axis] = dense[axis];
  return strides;
}

/// Calls `body(walk, i)` for every element; the walk's offsets are those of the operands.
template <class Body>
void for_each_element(const Application& application, std::int64_t cost, const Body& body) {
  std::vector<std::vector<std::int64_t>> strides;
  for (const Expected* operand : application.operands)
    strides.push_back(broadcast_strides(operand->shape, application.shape));
  in_parallel(element_count(application.shape), cost, [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    StridedWalk walk(application.shape, strides);
    walk.seek(begin);
    for (std::int64_t i = begin; i < end; ++i, walk.next()) body(walk, i);
  });
}

/// Of undecided conditions the two sides may still agree.
void select(const Application& application, Expected& result) {
  const std::span<const Expected* const> operands = application.operands;
  const Expected& condition = *operands[0];
  for_each_element(application, 20, [&](const StridedWalk& walk, std::int64_t i) {
    const std::size_t side = condition.integers[static_cast<std::size_t>(walk.offset(0))] ? 1 : 2;
    const Expected& chosen = *operands[side];
    const Expected& other = *operands[3 - side];
    const std::int64_t at = walk.offset(side);
    const std::int64_t at_other = walk.offset(3 - side);
    double bound = chosen.bound(at);
    const bool decided = !condition.is_undecided(walk.offset(0));
    if (is_floating(result.dtype)) {
      // A number beside a half value has the compute type; it is rounded here.
      const double value = round_to(result.dtype, chosen.real(at));
      const bool same = bound == 0 && other.bound(at_other) == 0 &&
                        round_to(result.dtype, other.real(at_other)) == value;
      store(result, i, value, decided || same ? bound : kUndecided);
      return;
    }
    const std::int64_t value = chosen.integers[static_cast<std::size_t>(at)];
    const bool same = bound == 0 && other.bound(at_other) == 0 &&
                      other.integers[static_cast<std::size_t>(at_other)] == value;
    store(result, i, value, decided || same ? bound : kUndecided);
  });
}

void compute_from_reals(const Application& application, Expected& result) {
  const OpInfo& row = info(application.node.op);
  const std::span<const Expected* const> operands = application.operands;
  Arguments pattern;
  pattern.count = operands.size();
  // Except for pow: x to the power x turns where no corner shows it.
  for (std::size_t i = 0; i < operands.size(); ++i)
    pattern.variable[i] =
        row.op == Op::pow
            ? i
            : static_cast<std::size_t>(std::ranges::find(operands, operands[i]) - operands.begin());
  const std::int64_t cost = row.ulp > 0 ? 500 : result.bounds.empty() ? 40 : 150;
  for_each_element(application, cost, [&](const StridedWalk& walk, std::int64_t i) {
    Arguments x = pattern;
    for (std::size_t k = 0; k < x.count; ++k) {
      x.values[k] = operands[k]->reals[static_cast<std::size_t>(walk.offset(k))];
      x.bounds[k] = operands[k]->bound(walk.offset(k));
    }
    if (!is_floating(result.dtype)) {
      const Answer answer = comparison(row, x, operands[0]->dtype);
      return store(result, i, to_stored(answer.value), answer.bound);
    }
    const Element element = real_element(row, x, result.dtype);
    store(result, i, element.value, element.bound);
  });
}

void compute_from_integers(const Application& application, Expected& result) {
  const OpInfo& row = info(application.node.op);
  const std::span<const Expected* const> operands = application.operands;
  const DType dtype = operands.back()->dtype;
  const int bits = width_of(dtype);
  const std::int64_t cost = row.op == Op::philox ? 100 : 40;
  for_each_element(application, cost, [&](const StridedWalk& walk, std::int64_t i) {
    std::array<Wide, kMostOperands> values = {};
    std::array<double, kMostOperands> bounds = {};
    for (std::size_t k = 0; k < operands.size(); ++k) {
      values[k] =
          from_stored(dtype, operands[k]->integers[static_cast<std::size_t>(walk.offset(k))]);
      bounds[k] = operands[k]->bound(walk.offset(k));
    }
    const Answer answer = integer_element(row, {values.data(), operands.size()},
                                          {bounds.data(), operands.size()}, result.dtype, bits);
    store(result, i, to_stored(answer.value), answer.bound);
  });
}

}  // namespace

Expected interpret_elementwise(const Application& application) {
  const OpInfo& row = info(application.node.op);
  ensure(application.operands.size() <= kMostOperands, "elementwise ops have at most 3 operands");
  Expected result = make_expected(application.node.dtype, application.shape,
                                  has_bounds(application.operands) || row.ulp > 0);
  if (row.types == TypeRule::Where)
    select(application, result);
  else if (is_floating(application.operands[0]->dtype))
    compute_from_reals(application, result);
  else
    compute_from_integers(application, result);
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
