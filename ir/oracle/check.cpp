// Compares arrays with oracle results and describes the outcome.
#include "ir/oracle/check.h"

#include "ir/shape/strided_iterator.h"
#include "sinter/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr double kInfiniteRatio = std::numeric_limits<double>::infinity();

/// |a - b| / bound, with 0 / 0 = 0.
double error_over_bound(long double a, long double b, double bound) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b) || bound == 0) return kInfiniteRatio;
  const long double error = std::fabs(a - b);
  const auto ratio = static_cast<double>(error / bound);
  // Rounding must not turn a ratio just above 1 into 1.
  return error > bound ? std::max(ratio, std::nextafter(1.0, kInfiniteRatio))
                       : std::min(ratio, 1.0);
}

double error_of(const Expected& expected, std::int64_t i, const HostArray& actual,
                std::int64_t offset) {
  if (is_floating(expected.dtype))
    return error_over_bound(actual.real_at(offset), expected.real(i), expected.bound(i));
  const bool equal = actual.integer_at(offset) == expected.integers[static_cast<std::size_t>(i)];
  return equal ? 0 : kInfiniteRatio;
}

}  // namespace

CheckResult check(const Expected& expected, const HostArray& actual) {
  if (expected.dtype != actual.dtype() || !std::ranges::equal(expected.shape, actual.shape()))
    throw UserError(fmt::format("check: the result is {}[{}] but {}[{}] is expected",
                                name(actual.dtype()), fmt::join(actual.shape(), ", "),
                                name(expected.dtype), fmt::join(expected.shape, ", ")));
  CheckResult result{.elements = expected.size()};
  StridedIterator iterator(actual.shape(), {{actual.strides().begin(), actual.strides().end()}});
  for (std::int64_t i = 0; i < expected.size(); ++i, iterator.next()) {
    if (expected.is_undecided(i)) {
      ++result.undecided;
      continue;
    }
    const double error = error_of(expected, i, actual, iterator.offset(0));
    result.worst = std::max(result.worst, error);
    if (error <= 1) continue;
    if (++result.failed == 1)
      result.first_bad = Mismatch{.index = unravel_index(expected.shape, i),
                                  .device = actual.real_at(iterator.offset(0)),
                                  .expected = expected.real(i),
                                  .bound = expected.bound(i)};
  }
  return result;
}

std::string describe(std::string_view name, const CheckResult& result) {
  const std::string undecided =
      result.undecided == 0 ? "" : fmt::format(", {} undecided", result.undecided);
  if (result.passes())
    return fmt::format("{}: {} elements within bounds, worst error/bound {:.3g}{}", name,
                       result.elements - result.undecided, result.worst, undecided);
  const Mismatch& bad = *result.first_bad;
  return fmt::format(
      "{}: {} of {} elements are beyond their bounds, worst error/bound {:.3g}{}; first at [{}]: "
      "device {:.9g}, expected {:.9g}, bound {:.3g}",
      name, result.failed, result.elements, result.worst, undecided, fmt::join(bad.index, ", "),
      bad.device, bad.expected, bad.bound);
}

}  // namespace sinter
