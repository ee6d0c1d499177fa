// The oracle for scans: running sums, products and extremes in long double. The bounds cover the
// errors that a device's tiles make in the accumulator.
#include "ir/oracle/reduced_view.h"
#include "ir/oracle/running_totals.h"
#include "ir/types/casts.h"
#include "ir/types/wide_integer.h"
#include "sinter/error.h"

#include <algorithm>

namespace sinter {

namespace {

/// The most additions on the path of an element into the result at `index`: 3 in its chunk of 4, 8
/// among the tile's 256 chunks, 1 per tile and 1 for a later chunk's prefix.
std::int64_t steps_at(std::int64_t index) { return std::min(index, 3 + 8 + index / 1024 + 2); }

/// One line of elements, `stride` apart.
struct Line {
  const Expected& from;
  Expected& to;
  std::int64_t begin;
  std::int64_t stride;
  std::int64_t extent;

  std::size_t at(std::int64_t i) const { return static_cast<std::size_t>(begin + i * stride); }
  Wide wide(std::int64_t i) const { return from.wide(begin + i * stride); }
  double bound(std::int64_t i) const { return from.bound(begin + i * stride); }
  void store(std::int64_t i, const Interval& interval, DType accumulator) const {
    set_element(to, at(i), to_element(rounded(rounded(interval, accumulator), to.dtype)));
  }
};

void scan_reals(Op op, const Line& line, DType accumulator) {
  Totals totals;
  Factors factors;
  Extreme extreme{.sign = op == Op::cummin ? -1 : 1};
  for (std::int64_t i = 0; i < line.extent; ++i) {
    const double x = line.from.reals[line.at(i)];
    const double bound = line.bound(i);
    if (op == Op::cumsum) {
      totals.add(x, bound);
      line.store(i, sum_interval(totals, accumulator, steps_at(i)), accumulator);
    } else if (op == Op::cumprod) {
      // The error bound holds for any order, because it only counts the i multiplications.
      factors.multiply(x, bound);
      line.store(i, product_interval(factors, accumulator, i), accumulator);
    } else {
      extreme.add(x, bound);
      line.store(i, extreme.interval(), accumulator);
    }
  }
}

void scan_integers(Op op, const Line& line) {
  const DType dtype = line.to.dtype;
  Wide value = op == Op::cumprod ? 1 : 0;
  double bound = 0;
  for (std::int64_t i = 0; i < line.extent; ++i) {
    const Wide x = line.wide(i);
    switch (op) {
      case Op::cumsum: value = wrap_to(dtype, value + x); break;
      case Op::cumprod: value = wrap_to(dtype, wrapping_mul(value, x)); break;
      case Op::cummax: value = i == 0 ? x : std::max(value, x); break;
      case Op::cummin: value = i == 0 ? x : std::min(value, x); break;
      default: throw InternalError("interpret: no such scan of integers");
    }
    bound = std::max(bound, line.bound(i));
    set_element(line.to, line.at(i), IntegerElement{.value = value, .bound = bound});
  }
}

}  // namespace

Expected interpret_scan(const NodeEvaluation& evaluation) {
  const Node& node = evaluation.node;
  const Expected& from = *evaluation.operands[0];
  const auto axis = static_cast<std::size_t>(attribute(node, "axis").integer);
  Expected result = make_expected(node.dtype, evaluation.shape, true);
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < from.shape.size(); ++i) inner *= from.shape[i];
  const std::int64_t extent = from.shape[axis];
  const std::int64_t lines = extent == 0 ? 0 : result.size() / extent;
  in_parallel(lines, 100 * extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Line line{.from = from,
                      .to = result,
                      .begin = i / inner * inner * extent + i % inner,
                      .stride = inner,
                      .extent = extent};
      if (is_floating(node.dtype))
        scan_reals(node.op, line, info(from.dtype).accumulator);
      else
        scan_integers(node.op, line);
    }
  });
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
