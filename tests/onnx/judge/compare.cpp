#include "tests/onnx/judge/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sinter/dtype.h"

namespace sinter::test {

namespace {

double relative_tolerance(DType dtype) {
  return dtype == DType::bf16 ? kOnnxRelativeToleranceBf16 : kOnnxRelativeTolerance;
}

bool is_close(double actual, double expected, double relative) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::abs(actual - expected) <= kOnnxAbsoluteTolerance + relative * std::abs(expected);
}

/// The distance of 1 from the next number.
double unit_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-52;
    case DType::f32: return 0x1p-23;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0;
  }
}

std::string value_text(const HostArray& array, std::span<const std::int64_t> index) {
  return is_floating(array.dtype()) ? fmt::format("{}", array.real(index))
                                    : fmt::format("{}", array.integer(index));
}

}  // namespace

std::string type_difference(const HostArray& actual, const HostArray& expected) {
  if (actual.dtype() == expected.dtype() && std::ranges::equal(actual.shape(), expected.shape()))
    return "";
  return fmt::format("is {}[{}], expected {}[{}]", name(actual.dtype()),
                     fmt::join(actual.shape(), ", "), name(expected.dtype()),
                     fmt::join(expected.shape(), ", "));
}

std::string onnx_difference(const HostArray& actual, const HostArray& expected) {
  if (std::string text = type_difference(actual, expected); !text.empty()) return text;
  const bool is_real = is_floating(expected.dtype());
  const double relative = relative_tolerance(expected.dtype());
  std::int64_t failed = 0;
  std::string first;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const std::vector<std::int64_t> index = unravel_index(expected.shape(), i);
    const bool is_good = is_real ? is_close(actual.real(index), expected.real(index), relative)
                                 : actual.integer(index) == expected.integer(index);
    if (is_good) continue;
    if (failed++ == 0)
      first = fmt::format("[{}] is {}, expected {}", fmt::join(index, ", "),
                          value_text(actual, index), value_text(expected, index));
  }
  if (failed == 0) return "";
  return fmt::format("{} ({} of {} elements differ)", first, failed, expected.size());
}

std::string inexact_expectation(const HostArray& actual, const HostArray& expected,
                                const HostArray& exact) {
  const bool are_alike = type_difference(actual, expected).empty() &&
                         is_floating(expected.dtype()) &&
                         std::ranges::equal(actual.shape(), exact.shape());
  if (!are_alike) return "";
  const double relative = relative_tolerance(expected.dtype());
  double largest = 0;
  for (std::int64_t i = 0; i < exact.size(); ++i)
    if (std::isfinite(exact.real_at(i))) largest = std::max(largest, std::abs(exact.real_at(i)));
  const double rounding = 4 * unit_of(expected.dtype()) * largest;
  std::int64_t inexact = 0;
  std::string first;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const std::vector<std::int64_t> index = unravel_index(expected.shape(), i);
    const double found = actual.real(index);
    const double wanted = expected.real(index);
    const double truth = exact.real(index);
    if (!is_close(found, truth, relative)) return "";
    if (is_close(found, wanted, relative)) continue;
    const double error = std::abs(wanted - truth);
    if (!(std::abs(found - truth) < error && error <= rounding)) return "";
    if (inexact++ == 0)
      first =
          fmt::format("[{}] is {:.6g} instead of {:.6g}", fmt::join(index, ", "), wanted, truth);
  }
  // A wrong formula moves most elements.
  constexpr std::int64_t kLeastElementsPerInexact = 20;
  if (inexact == 0 || inexact * kLeastElementsPerInexact > expected.size()) return "";
  return fmt::format("{} ({} of {} elements)", first, inexact, expected.size());
}

}  // namespace sinter::test
