// The oracle for reductions: each result from all elements that go into it, in long double, with
// the error that the reduction tree may make in the accumulator.
#include "ir/ops/evaluate_op.h"
#include "ir/oracle/interpret_group.h"
#include "ir/shape/strided_walk.h"
#include "ir/types/long_double_limits.h"
#include "ir/types/rounding.h"
#include "sinter/error.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinter {

namespace {

std::int64_t bit_ceil(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

TreeDepth level_depth(std::int64_t extent) {
  const std::int64_t chunks = (extent + 3) / 4;
  const auto share = std::bit_floor(static_cast<std::uint64_t>(extent / 4096));
  const std::int64_t parts = std::clamp<std::int64_t>(static_cast<std::int64_t>(share), 1, 1024);
  const std::int64_t per_part = std::max<std::int64_t>((chunks + parts - 1) / parts, 1);
  const std::int64_t accumulators = std::min<std::int64_t>(512, bit_ceil(per_part));
  const std::int64_t in_order = 4 * ((per_part + accumulators - 1) / accumulators);
  return {.in_order = static_cast<int>(in_order),
          .combines = std::countr_zero(static_cast<std::uint64_t>(accumulators)) +
                      std::countr_zero(static_cast<std::uint64_t>(parts))};
}

/// True if no axis but such of extent 1 stands between the two, and others follow.
bool are_leading_neighbours(std::span<const Extent> shape, std::int64_t outer, std::int64_t inner) {
  if (inner < outer) return false;
  const auto is_one = [](Extent extent) { return extent.is(1); };
  const auto begin = shape.begin();
  return std::all_of(begin + outer + 1, begin + inner, is_one) &&
         !std::all_of(begin + inner + 1, shape.end(), is_one);
}

/// Levels nest; neighbours are merged while they are small, or both before the last axis.
TreeDepth tree_depth(const Node& node, std::span<const std::int64_t> shape) {
  constexpr std::int64_t kLargestMergedLevel = 1 << 14;
  const std::vector<std::int64_t> order = reduction_order(node);
  TreeDepth depth;
  const auto add_level = [&](std::int64_t extent) {
    const TreeDepth level = level_depth(extent);
    depth.in_order += level.in_order;
    depth.combines += level.combines;
    ++depth.levels;
  };
  std::int64_t level = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const std::int64_t extent = shape[static_cast<std::size_t>(*axis)];
    if (axis != order.rbegin() && level * extent > kLargestMergedLevel &&
        !are_leading_neighbours(node.operand(0)->shape, *axis, *std::prev(axis))) {
      add_level(level);
      level = 1;
    }
    level *= extent;
  }
  add_level(level);
  return depth;
}

/// Each of three divided by a number of the accumulator, correctly rounded.
Interval quotient(const Interval& numerator, long double divisor, DType dtype) {
  const auto divide = [&](long double value) -> long double {
    const long double operands[] = {value, divisor};
    return evaluate(info(Op::div), operands, dtype);
  };
  const long double value = divide(numerator.value);
  // An undecided numerator stays undecided whatever it is divided by.
  if (std::isnan(numerator.low) && !std::isnan(numerator.value)) return undecided(value);
  return interval_around(value, divide(numerator.low), divide(numerator.high));
}

/// max, or min as the max of the negatives.
Interval extreme_of(const ReducedView& group, long double sign) {
  Interval result = certain(-kInfinity);
  bool has_undecided = false;
  for (std::size_t i = 0; i < group.offsets.size(); ++i) {
    const long double x = sign * group.real(i);
    const long double bound = group.bound(i);
    if (std::isnan(x) && std::isfinite(bound))
      return certain(std::numeric_limits<long double>::quiet_NaN());
    has_undecided |= std::isinf(bound);
    if (std::isinf(bound)) continue;
    result.value = std::max(result.value, x);
    result.low = std::max(result.low, x - bound);
    result.high = std::max(result.high, x + bound);
  }
  if (has_undecided) return undecided(sign * result.value);
  return {.value = sign * result.value,
          .low = std::min(sign * result.low, sign * result.high),
          .high = std::max(sign * result.low, sign * result.high)};
}

struct Whole {
  Wide value;
  double bound;
};

/// The place of the first NaN, else of the first largest element; with `sign` -1, smallest.
std::size_t place_of_largest(const ReducedView& group, int sign) {
  const bool real = is_floating(group.from.dtype);
  const auto is_nan = [&](std::size_t i) { return real && std::isnan(group.real(i)); };
  std::size_t best = 0;
  for (std::size_t i = 1; i < group.offsets.size() && !is_nan(best); ++i) {
    const bool greater = real ? sign * group.real(i) > sign * group.real(best)
                              : sign * group.whole(i) > sign * group.whole(best);
    if (greater || is_nan(i)) best = i;
  }
  return best;
}

/// True if element `i` cannot take the place of the largest one, `best`.
bool stays_behind(const ReducedView& group, std::size_t i, std::size_t best, int sign) {
  const bool real = is_floating(group.from.dtype);
  if (real && std::isnan(group.real(best)) && std::isfinite(group.bound(best)))
    return i > best || std::isfinite(group.bound(i));
  const double reach = group.bound(i) + group.bound(best);
  if (reach == 0) return true;
  if (!real || std::isinf(reach)) return false;
  const long double highest = sign * static_cast<long double>(group.real(i)) + reach;
  const double leads = sign * group.real(best);
  return i < best ? highest < leads : highest <= leads;
}

Whole place_of_extreme(const ReducedView& group, int sign) {
  const std::size_t best = place_of_largest(group, sign);
  double bound = std::isinf(group.bound(best)) ? kUndecided : 0;
  if (!group.from.bounds.empty())
    for (std::size_t i = 0; i < group.offsets.size(); ++i)
      if (i != best && !stays_behind(group, i, best, sign)) bound = kUndecided;
  return {.value = static_cast<Wide>(best), .bound = bound};
}

/// Undecided elements do not matter where others decide.
Whole truth_of(const ReducedView& group, bool decisive) {
  bool has_undecided = false;
  for (std::size_t i = 0; i < group.offsets.size(); ++i) {
    if (group.bound(i) != 0)
      has_undecided = true;
    else if ((group.integer(i) != 0) == decisive)
      return {.value = decisive, .bound = 0};
  }
  return {.value = !decisive, .bound = has_undecided ? kUndecided : 0};
}

Whole reduce_integers(Op op, const ReducedView& group, DType dtype) {
  if (op == Op::argmax) return place_of_extreme(group, 1);
  if (op == Op::argmin) return place_of_extreme(group, -1);
  if (op == Op::any) return truth_of(group, true);
  if (op == Op::all) return truth_of(group, false);
  Wide sum = 0;
  Wide product = 1;
  Wide largest = lowest_integer(dtype);
  Wide smallest = highest_integer(dtype);
  double bound = 0;
  for (std::size_t i = 0; i < group.offsets.size(); ++i) {
    const Wide x = group.whole(i);
    sum += x;
    product = wrap_to(dtype, wrapping_mul(product, x));
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
    bound = std::max(bound, group.bound(i));
  }
  switch (op) {
    case Op::sum: return {.value = sum, .bound = bound};
    case Op::prod: return {.value = product, .bound = bound};
    case Op::max: return {.value = largest, .bound = bound};
    case Op::min: return {.value = smallest, .bound = bound};
    default: throw InternalError("interpret: no such reduction of integers");
  }
}

/// The result in the accumulator's dtype.
Interval reduce_reals(const Node& node, const ReducedView& group) {
  const auto count = static_cast<long double>(group.size());
  switch (node.op) {
    case Op::sum: return sum_of(group);
    case Op::prod: return product_of(group);
    case Op::mean:
      return quotient(sum_of(group), round_to(group.accumulator, count), group.accumulator);
    case Op::var: {
      const auto correction = static_cast<long double>(attribute(node, "correction").integer);
      return quotient(deviations_of(group), round_to(group.accumulator, count - correction),
                      group.accumulator);
    }
    case Op::welford: return deviations_of(group);
    case Op::logsumexp: return logsumexp_of(group);
    case Op::max: return extreme_of(group, 1);
    case Op::min: return extreme_of(group, -1);
    default: throw InternalError("interpret: no such reduction of floats");
  }
}

/// The offsets of all elements of `shape`, in row-major order.
std::vector<std::int64_t> offsets_of(std::span<const std::int64_t> shape,
                                     std::vector<std::int64_t> strides) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(element_count(shape)));
  StridedWalk walk(shape, {std::move(strides)});
  for (std::int64_t& offset : offsets) {
    offset = walk.offset(0);
    walk.next();
  }
  return offsets;
}

}  // namespace

Expected interpret_reduction(const Application& application) {
  const Node& node = application.node;
  const Expected& from = *application.operands[0];
  const std::span<const std::int64_t> axes = reduced_axes(node);
  const std::vector<std::int64_t> strides = row_major(from.shape);
  std::vector<std::int64_t> kept_shape, kept_strides, reduced_shape, reduced_strides;
  for (std::size_t axis = 0; axis < from.shape.size(); ++axis) {
    const bool is_reduced = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
    (is_reduced ? reduced_shape : kept_shape).push_back(from.shape[axis]);
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[axis]);
  }
  const std::vector<std::int64_t> offsets = offsets_of(reduced_shape, reduced_strides);
  const std::vector<std::int64_t> bases = offsets_of(kept_shape, kept_strides);
  const DType accumulator = info(from.dtype).accumulator;
  const TreeDepth depth = tree_depth(node, from.shape);
  Expected result = make_expected(node.dtype, application.shape, true);
  const std::int64_t cost = 30 * static_cast<std::int64_t>(offsets.size()) + 20;
  in_parallel(result.size(), cost, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const ReducedView group{.from = from,
                              .base = bases[i],
                              .offsets = offsets,
                              .accumulator = accumulator,
                              .depth = depth};
      if (is_floating(node.dtype)) {
        const Interval value = reduce_reals(node, group);
        const Element element = to_element(rounded(value, node.dtype));
        result.reals[i] = element.value;
        result.bounds[i] = element.bound;
      } else {
        const Whole whole = reduce_integers(node.op, group, node.dtype);
        result.integers[i] = to_stored(whole.value);
        result.bounds[i] = whole.bound;
      }
    }
  });
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
