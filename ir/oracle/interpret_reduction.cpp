// The oracle for reductions. It computes each result in long double, with a bound on the error that
// the reduction tree makes in the accumulator.
#include "ir/ops/evaluate_op.h"
#include "ir/oracle/reduced_view.h"
#include "ir/oracle/running_totals.h"
#include "ir/shape/strided_iterator.h"
#include "ir/support/round_up.h"
#include "ir/types/casts.h"
#include "ir/types/long_double_limits.h"
#include "sinter/error.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinter {

namespace {

TreeDepth level_depth(std::int64_t extent) {
  const std::int64_t chunks = divide_up<std::int64_t>(extent, 4);
  const std::int64_t parts = std::clamp<std::int64_t>(bit_floor(extent / 4096), 1, 1024);
  const std::int64_t per_part = std::max<std::int64_t>(divide_up(chunks, parts), 1);
  const std::int64_t accumulators = std::min<std::int64_t>(512, bit_ceil(per_part));
  const std::int64_t in_order = 4 * divide_up(per_part, accumulators);
  return {.in_order = static_cast<int>(in_order),
          .combines = std::countr_zero(static_cast<std::uint64_t>(accumulators)) +
                      std::countr_zero(static_cast<std::uint64_t>(parts))};
}

/// True if only axes of extent 1 are between `outer` and `inner`, and a larger axis follows
/// `inner`.
bool are_leading_neighbours(std::span<const Extent> shape, std::int64_t outer, std::int64_t inner) {
  if (inner < outer) return false;
  const auto is_one = [](Extent extent) { return extent.is(1); };
  const auto begin = shape.begin();
  return std::all_of(begin + outer + 1, begin + inner, is_one) &&
         !std::all_of(begin + inner + 1, shape.end(), is_one);
}

/// The reduced axes are nested levels of the tree. Adjacent axes form one level while their product
/// is at most 2^14, or if they are leading neighbours.
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

/// Divides the value and both ends by `divisor`, a number of `dtype`, with correct rounding.
Interval quotient(const Interval& numerator, long double divisor, DType dtype) {
  const auto divide = [&](long double value) -> long double {
    const long double operands[] = {value, divisor};
    return evaluate(info(Op::div), operands, dtype);
  };
  const long double value = divide(numerator.value);
  // A quotient with an undecided numerator is undecided for every divisor.
  if (std::isnan(numerator.low) && !std::isnan(numerator.value)) return undecided(value);
  const long double a = divide(numerator.low);
  const long double b = divide(numerator.high);
  if (std::isnan(a) || std::isnan(b)) return {.value = value, .low = a, .high = b};
  return {.value = value, .low = std::min({value, a, b}), .high = std::max({value, a, b})};
}

Interval extreme_of(const ReducedView& view, int sign) {
  Extreme extreme{.sign = sign};
  for (std::size_t i = 0; i < view.offsets.size(); ++i) extreme.add(view.real(i), view.bound(i));
  return extreme.interval();
}

/// The index of the first NaN, else of the first largest element (smallest for `sign` -1).
std::size_t index_of_largest(const ReducedView& view, int sign) {
  const bool real = is_floating(view.from.dtype);
  const auto is_nan = [&](std::size_t i) { return real && std::isnan(view.real(i)); };
  std::size_t best = 0;
  for (std::size_t i = 1; i < view.offsets.size() && !is_nan(best); ++i) {
    const bool greater = real ? sign * view.real(i) > sign * view.real(best)
                              : sign * view.wide(i) > sign * view.wide(best);
    if (greater || is_nan(i)) best = i;
  }
  return best;
}

/// True if element `i` cannot win over element `best` with any values within their bounds.
bool cannot_win(const ReducedView& view, std::size_t i, std::size_t best, int sign) {
  const bool real = is_floating(view.from.dtype);
  if (real && std::isnan(view.real(best)) && std::isfinite(view.bound(best)))
    return i > best || std::isfinite(view.bound(i));
  const double reach = view.bound(i) + view.bound(best);
  if (reach == 0) return true;
  if (!real || std::isinf(reach)) return false;
  const long double highest = sign * static_cast<long double>(view.real(i)) + reach;
  const double leads = sign * view.real(best);
  return i < best ? highest < leads : highest <= leads;
}

IntegerElement argextreme(const ReducedView& view, int sign) {
  const std::size_t best = index_of_largest(view, sign);
  double bound = std::isinf(view.bound(best)) ? kUndecided : 0;
  if (!view.from.bounds.empty())
    for (std::size_t i = 0; i < view.offsets.size(); ++i)
      if (i != best && !cannot_win(view, i, best, sign)) bound = kUndecided;
  return {.value = static_cast<Wide>(best), .bound = bound};
}

/// any (`decisive` true) or all (false). An exact element equal to `decisive` decides the result.
IntegerElement reduce_logical(const ReducedView& view, bool decisive) {
  bool has_undecided = false;
  for (std::size_t i = 0; i < view.offsets.size(); ++i) {
    if (view.bound(i) != 0)
      has_undecided = true;
    else if ((view.integer(i) != 0) == decisive)
      return {.value = decisive, .bound = 0};
  }
  return {.value = !decisive, .bound = has_undecided ? kUndecided : 0};
}

IntegerElement reduce_integers(Op op, const ReducedView& view, DType dtype) {
  if (op == Op::argmax) return argextreme(view, 1);
  if (op == Op::argmin) return argextreme(view, -1);
  if (op == Op::any) return reduce_logical(view, true);
  if (op == Op::all) return reduce_logical(view, false);
  Wide sum = 0;
  Wide product = 1;
  Wide largest = lowest_integer(dtype);
  Wide smallest = highest_integer(dtype);
  double bound = 0;
  for (std::size_t i = 0; i < view.offsets.size(); ++i) {
    const Wide x = view.wide(i);
    sum += x;
    product = wrap_to(dtype, wrapping_mul(product, x));
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
    bound = std::max(bound, view.bound(i));
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
Interval reduce_reals(const Node& node, const ReducedView& view) {
  const auto count = static_cast<long double>(view.size());
  switch (node.op) {
    case Op::sum: return sum_of(view);
    case Op::prod: return product_of(view);
    case Op::mean:
      return quotient(sum_of(view), round_to(view.accumulator, count), view.accumulator);
    case Op::var: {
      const auto correction = static_cast<long double>(attribute(node, "correction").integer);
      return quotient(deviations_of(view), round_to(view.accumulator, count - correction),
                      view.accumulator);
    }
    case Op::welford: return deviations_of(view);
    case Op::logsumexp: return logsumexp_of(view);
    case Op::max: return extreme_of(view, 1);
    case Op::min: return extreme_of(view, -1);
    default: throw InternalError("interpret: no such reduction of floats");
  }
}

/// The offsets of all elements of `shape`, in row-major order.
std::vector<std::int64_t> offsets_of(std::span<const std::int64_t> shape,
                                     std::vector<std::int64_t> strides) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(element_count(shape)));
  StridedIterator iterator(shape, {std::move(strides)});
  for (std::int64_t& offset : offsets) {
    offset = iterator.offset(0);
    iterator.next();
  }
  return offsets;
}

}  // namespace

Expected interpret_reduction(const NodeEvaluation& evaluation) {
  const Node& node = evaluation.node;
  const Expected& from = *evaluation.operands[0];
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
  Expected result = make_expected(node.dtype, evaluation.shape, true);
  const std::int64_t cost = 30 * static_cast<std::int64_t>(offsets.size()) + 20;
  in_parallel(result.size(), cost, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const ReducedView view{.from = from,
                             .base = bases[i],
                             .offsets = offsets,
                             .accumulator = accumulator,
                             .depth = depth};
      if (is_floating(node.dtype)) {
        set_element(result, i, to_element(rounded(reduce_reals(node, view), node.dtype)));
      } else {
        set_element(result, i, reduce_integers(node.op, view, node.dtype));
      }
    }
  });
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
