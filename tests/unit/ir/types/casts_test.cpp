// Rounding and casts of single numbers, compared with the arithmetic of the CPU.
#include "ir/types/casts.h"
#include "ir/ops/evaluate_op.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sinter::casts_test {
namespace {

using Random = std::mt19937_64;

/// Numbers with few bits and many exponents: their sums and products often tie.
template <class T>
T sparse(Random& random) {
  const auto few = static_cast<T>(static_cast<std::int64_t>(random() % 33) - 16);
  const auto bit = static_cast<T>(static_cast<std::int64_t>(random() % 3) - 1);
  const int digits = std::numeric_limits<T>::digits;
  const int shift = static_cast<int>(random() % static_cast<std::uint64_t>(2 * digits + 4));
  return std::ldexp(few + std::ldexp(bit, -shift), static_cast<int>(random() % 7) - 3);
}

/// A number with random bits: it may be subnormal, huge, infinite or NaN.
template <class T>
T any(Random& random) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  else
    return std::bit_cast<double>(random());
}

template <class T>
void expect_machine_results(DType dtype) {
  struct Case {
    Op op;
    std::function<T(T, T, T)> machine;
  };
  const Case cases[] = {
      {Op::add, [](T a, T b, T) { return a + b; }},
      {Op::sub, [](T a, T b, T) { return a - b; }},
      {Op::mul, [](T a, T b, T) { return a * b; }},
      {Op::div, [](T a, T b, T) { return a / b; }},
      {Op::sqrt, [](T a, T, T) { return std::sqrt(a); }},
      {Op::floor, [](T a, T, T) { return std::floor(a); }},
      {Op::fma, [](T a, T b, T c) { return std::fma(a, b, c); }},
  };
  Random random(3);
  for (int i = 0; i < 60000; ++i) {
    const bool few = i % 3 != 0;
    T x[3];
    for (T& value : x) value = few ? sparse<T>(random) : any<T>(random);
    for (const Case& test : cases) {
      const OpInfo& row = info(test.op);
      const long double operands[] = {x[0], x[1], x[2]};
      const std::span<const long double> used(operands, static_cast<std::size_t>(row.arity));
      const double expected = test.machine(x[0], x[1], x[2]);
      const double actual = evaluate(row, used, dtype);
      ASSERT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
          << row.name << " of " << x[0] << ", " << x[1] << ", " << x[2] << " gives " << actual
          << ", not " << expected;
    }
  }
}

TEST(CastsTest, ExactOpsOfF32RoundLikeTheCpu) { expect_machine_results<float>(f32); }
TEST(CastsTest, ExactOpsOfF64RoundLikeTheCpu) { expect_machine_results<double>(f64); }

TEST(CastsTest, UlpIsTheDistanceToTheNextNumber) {
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    const float x = std::fabs(any<float>(random));
    if (std::isfinite(x) && x < std::numeric_limits<float>::max()) {
      const float next = std::nextafter(x, HUGE_VALF);
      ASSERT_EQ(ulp_at(f32, x), static_cast<long double>(next) - x) << x;
    }
    const double y = std::fabs(any<double>(random));
    if (std::isfinite(y) && y < std::numeric_limits<double>::max()) {
      const double next = std::nextafter(y, HUGE_VAL);
      ASSERT_EQ(ulp_at(f64, -y), static_cast<long double>(next) - y) << y;
    }
  }
  EXPECT_EQ(ulp_at(f32, 0), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(ulp_at(f32, HUGE_VALL), 0x1p104L);
  // Below a power of two by less than one ulp of a double.
  EXPECT_EQ(ulp_at(f64, std::nextafter(1.0L, 0.0L)), 0x1p-53L);
  EXPECT_EQ(ulp_at(bf16, 1), 0x1p-7L);
  EXPECT_EQ(ulp_at(f16, 0x1p-20L), 0x1p-24L);
}

TEST(CastsTest, LargestFiniteNumbersMatchTheFormats) {
  EXPECT_EQ(largest_finite(f16), 65504);
  EXPECT_EQ(largest_finite(bf16), 0x1.fep127L);
  EXPECT_EQ(largest_finite(f32), std::numeric_limits<float>::max());
  EXPECT_EQ(largest_finite(f64), std::numeric_limits<double>::max());
}

TEST(CastsTest, OpsOfHalvesRoundToF32First) {
  const long double near_tie = 1 + 0x1p-8L + 0x1p-40L;
  EXPECT_EQ(round_to(bf16, near_tie), 1 + 0x1p-7);
  EXPECT_EQ(round_as_op(bf16, near_tie), 1);
}

TEST(CastsTest, IntegersWrapAndCastsSaturate) {
  EXPECT_EQ(wrap_to(i32, 1LL << 31), INT32_MIN);
  EXPECT_EQ(wrap_to(boolean, -3), 1);
  EXPECT_EQ(wrap_to(i64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(cast_to_integer(i32, 2147483647.5L), INT32_MAX);
  EXPECT_EQ(cast_to_integer(i32, 2147483648.0L), INT32_MAX);
  EXPECT_EQ(cast_to_integer(i64, 0x1p63L), INT64_MAX);
  EXPECT_EQ(cast_to_integer(i64, -0x1p63L), INT64_MIN);
  EXPECT_EQ(cast_to_integer(i64, -HUGE_VALL), INT64_MIN);
  EXPECT_EQ(cast_to_integer(i32, -0.9L), 0);
}

TEST(CastsTest, IntegersSaturateAndTakeNanAs0) {
  const long double nan = std::numeric_limits<long double>::quiet_NaN();
  const long double infinity = std::numeric_limits<long double>::infinity();
  for (const DType dtype : {i8, i16, i32, i64, u8, u16, u32, u64}) {
    EXPECT_EQ(cast_to_integer(dtype, nan), 0) << info(dtype).name;
    EXPECT_EQ(cast_to_integer(dtype, infinity), highest_integer(dtype)) << info(dtype).name;
    EXPECT_EQ(cast_to_integer(dtype, -infinity), lowest_integer(dtype)) << info(dtype).name;
  }
  EXPECT_EQ(cast_to_integer(i8, -2.9L), -2);
  EXPECT_EQ(cast_to_integer(i8, 127.5L), 127);
  EXPECT_EQ(cast_to_integer(i8, -129), -128);
  EXPECT_EQ(cast_to_integer(u8, -0.5L), 0);
  EXPECT_EQ(cast_to_integer(boolean, nan), 1);
}

}  // namespace
}  // namespace sinter::casts_test
