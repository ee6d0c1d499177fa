// Quotients of resident rows, computed by the function that divides whole vectors: the bits of IEEE
// 754 division for all kinds of operands.
#include "tests/support/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace sinter::test::shared_division_host_test {
namespace {

template <class T>
class Quotients : public testing::Test {
 protected:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<T>;

  static std::vector<T> divisors() {
    return {1,
            3,
            static_cast<T>(0.1),
            std::nextafter(T{1}, T{2}),
            std::nextafter(T{2}, T{1}),  // all mantissa bits are 1
            Limits::denorm_min(),
            3 * Limits::denorm_min(),
            std::nextafter(Limits::min(), T{0}),
            Limits::min(),
            Limits::max(),
            Limits::infinity(),
            Limits::quiet_NaN(),
            T{0},
            -T{0},
            -Limits::denorm_min(),
            static_cast<T>(-0.7),
            -std::nextafter(T{2}, T{1})};
  }

  /// Random values of any exponent or close to `divisor`. None is larger than `divisor`.
  T dividend(T divisor) {
    for (;;) {
      const T any = std::bit_cast<T>(static_cast<Bits>(random_()));
      const T share = static_cast<T>(random_() % 4096) / static_cast<T>(1024) - 3;
      const T value = random_() % 2 == 0 ? any : divisor * share;
      const bool is_larger = value > divisor || (value == divisor && !std::signbit(value));
      if (std::isnan(divisor) || (!std::isnan(value) && !is_larger)) return value;
    }
  }

  std::mt19937_64 random_{7};
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Quotients, Types);

TYPED_TEST(Quotients, AreThoseOfTheirElements) {
  using T = TypeParam;
  constexpr std::int64_t kColumns = 4096;
  const std::vector<T> divisors = this->divisors();
  const auto rows = static_cast<std::int64_t>(divisors.size());
  std::vector<T> x(static_cast<std::size_t>(rows * kColumns));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = this->dividend(divisors[i / kColumns]);
  for (std::size_t row = 0; row < divisors.size(); ++row)
    x[row * kColumns + 37 * row] = divisors[row];

  const DType dtype = sizeof(T) == 4 ? f32 : f64;
  HostArray input(dtype, {rows, kColumns});
  std::memcpy(input.bytes().data(), x.data(), x.size() * sizeof(T));
  const Graph graph = parse(fmt::format(R"(
graph divided(x: {}[{}, {}]) {{
  m = max x {{axes = [1], keep = true}}
  y = div x, m
  return y
}})",
                                        name(dtype), rows, kColumns));
  const RunResult run = run_graph(graph, host_device(), {{"x", input}}, {});
  ASSERT_THAT(run.report.kernels.at(0).source, testing::HasSubstr("quotients(x[tile], m)"));

  std::vector<T> y(x.size());
  std::memcpy(y.data(), run.results.at("y").bytes().data(), y.size() * sizeof(T));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const T divisor = divisors[i / kColumns];
    const T expected = x[i] / divisor;
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(y[i])) << x[i] << " / " << divisor;
    else
      ASSERT_EQ(std::memcmp(&y[i], &expected, sizeof(T)), 0)
          << x[i] << " / " << divisor << " is " << expected << ", not " << y[i];
  }
}

}  // namespace
}  // namespace sinter::test::shared_division_host_test
