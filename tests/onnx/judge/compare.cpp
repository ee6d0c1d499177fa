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

std::string value_text(const HostArray& array, std::span<const std::int64_t> index) {
  return is_floating(array.dtype()) ? fmt::format("{}", array.real(index))
                                    : fmt::format("{}", array.integer(index));
}

}  // namespace

std::string onnx_difference(const HostArray& actual, const HostArray& expected) {
  if (actual.dtype() != expected.dtype() || !std::ranges::equal(actual.shape(), expected.shape()))
    return fmt::format("is {}[{}], expected {}[{}]", name(actual.dtype()),
                       fmt::join(actual.shape(), ", "), name(expected.dtype()),
                       fmt::join(expected.shape(), ", "));
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

}  // namespace sinter::test
