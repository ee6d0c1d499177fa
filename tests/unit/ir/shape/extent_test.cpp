// Extents: canonical forms, exact division, proofs and errors.
#include "ir/shape/extent.h"
#include "ir/ops/evaluate_op.h"

#include "sinter/graph.h"
#include "tests/support/files/errors.h"

#include <random>

#include <gtest/gtest.h>

namespace sinter::extent_test {
namespace {

using test::error_of;

class ExtentTest : public testing::Test {
 protected:
  Graph graph{"g"};
  Extent rows = graph.extent("rows");
  Extent columns = graph.extent("columns");
};

TEST_F(ExtentTest, EqualExpressionsAreIdentical) {
  EXPECT_EQ(rows * 16 + rows, rows * 17);
  EXPECT_EQ((rows + columns) * (rows - columns), rows * rows - columns * columns);
  EXPECT_EQ(rows * columns, columns * rows);
  EXPECT_EQ(rows - rows, Extent(0));
  EXPECT_EQ(rows * 0, Extent(0));
  EXPECT_EQ(graph.extent("rows"), rows);
  EXPECT_NE(rows + 1, rows);
}

TEST_F(ExtentTest, PrintsInAlphabeticalOrder) {
  EXPECT_EQ(to_string(rows * 16 + 1), "rows * 16 + 1");
  EXPECT_EQ(to_string(Extent(1) + rows * columns + columns), "columns + columns * rows + 1");
  EXPECT_EQ(to_string(Extent(5) - rows), "rows * -1 + 5");
  EXPECT_EQ(to_string(rows - columns * 2 - 3), "columns * -2 + rows - 3");
  EXPECT_EQ(to_string(ceil_div(rows, 4)), "floor_div(rows + 3, 4)");
  const Extent shape[] = {rows, 4096};
  EXPECT_EQ(to_string(shape), "[rows, 4096]");
  EXPECT_EQ(to_string(std::span<const Extent>()), "[]");
}

TEST_F(ExtentTest, DividesExactly) {
  EXPECT_EQ(divide_exactly(rows * 16, 16), rows);
  EXPECT_EQ(divide_exactly(rows * columns * 6, columns * 3), rows * 2);
  EXPECT_EQ(divide_exactly(rows + 1, rows + 1), Extent(1));
  EXPECT_EQ(divide_exactly(rows * 16 + 8, 16), std::nullopt);
  EXPECT_EQ(divide_exactly(rows, columns), std::nullopt);
  EXPECT_EQ(divide_exactly(rows, 0), std::nullopt);
  EXPECT_EQ(divide_exactly(12, 4), Extent(3));
  EXPECT_EQ(divide_exactly(12, 5), std::nullopt);
}

TEST_F(ExtentTest, ExtractsMultiplesFromQuotients) {
  EXPECT_EQ(floor_div(rows * 16 + 5, 16), rows);
  EXPECT_EQ(floor_div(rows * 16 + 37, 16), rows + 2);
  EXPECT_EQ(floor_div(rows * 16 - 1, 16), rows - 1);
  EXPECT_EQ(ceil_div(rows * 4, 4), rows);
  EXPECT_EQ(ceil_div(rows * 4 + 1, 4), rows + 1);
  EXPECT_EQ(floor_div(floor_div(rows, 3), 5), floor_div(rows, 15));
  // Nested quotients are not merged if the product of the divisors is too large.
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  const Extent nested = floor_div(floor_div(rows, kLarge), kLarge);
  EXPECT_EQ(to_string(nested), "floor_div(floor_div(rows, 1099511627776), 1099511627776)");
  EXPECT_EQ(evaluate(nested, std::vector<std::int64_t>{kLarge}), 0);
  EXPECT_EQ(floor_div(rows, 2), floor_div(rows, 2));
  EXPECT_EQ(floor_div(-7, 2), Extent(-4));
}

/// A random expression and its value, computed with plain integers.
struct Sample {
  Extent extent;
  std::int64_t value;
};

Sample random_sample(std::mt19937& random, std::span<const Extent> symbols,
                     std::span<const std::int64_t> values, int depth) {
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  if (depth == 0) {
    const auto symbol = static_cast<std::size_t>(pick(2));
    if (pick(2) == 0) return {.extent = symbols[symbol], .value = values[symbol]};
    const std::int64_t number = pick(9) - 4;
    return {.extent = number, .value = number};
  }
  const Sample a = random_sample(random, symbols, values, depth - 1);
  const Sample b = random_sample(random, symbols, values, depth - 1);
  switch (pick(4)) {
    case 0: return {.extent = a.extent + b.extent, .value = a.value + b.value};
    case 1: return {.extent = a.extent - b.extent, .value = a.value - b.value};
    case 2: return {.extent = a.extent * b.extent, .value = a.value * b.value};
    default: break;
  }
  const std::int64_t divisor = pick(7) + 1;
  const std::int64_t quotient = a.value / divisor - (a.value % divisor < 0 ? 1 : 0);
  return {.extent = floor_div(a.extent, divisor), .value = quotient};
}

TEST_F(ExtentTest, CanonicalFormsKeepTheirValue) {
  std::mt19937 random(1);
  const Extent symbols[] = {rows, columns};
  for (int round = 0; round < 5000; ++round) {
    const std::int64_t values[] = {1 + static_cast<int>(random() % 50),
                                   1 + static_cast<int>(random() % 50)};
    const Sample sample = random_sample(random, symbols, values, 3);
    ASSERT_EQ(evaluate(sample.extent, values), sample.value) << to_string(sample.extent);
  }
}

TEST_F(ExtentTest, ProofsHoldForAllSizes) {
  std::mt19937 random(2);
  const Extent symbols[] = {rows, columns};
  int proven = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t values[] = {1 + static_cast<int>(random() % 20),
                                   1 + static_cast<int>(random() % 20)};
    const Extent extent = random_sample(random, symbols, values, 3).extent;
    if (!provably_nonnegative(extent)) continue;
    for (std::int64_t size = 1; size < 30; ++size) {
      const std::int64_t sizes[] = {size, 31 - size};
      ASSERT_GE(evaluate(extent, sizes), 0) << to_string(extent);
    }
    proven += !extent.is_number();
  }
  EXPECT_GT(proven, 100);
}

TEST_F(ExtentTest, ProvesCommonComparisons) {
  EXPECT_TRUE(provably_nonnegative(rows - 1));
  EXPECT_TRUE(provably_less(rows, rows + 1));
  EXPECT_TRUE(provably_less(3, 4));
  EXPECT_FALSE(provably_less(4, 4));
  EXPECT_FALSE(provably_less(rows, columns));
  EXPECT_FALSE(provably_nonnegative(rows - 2));
}

TEST_F(ExtentTest, OverflowIsAnError) {
  const Extent large = std::int64_t{1} << 62;
  EXPECT_EQ(error_of([&] { large * 4; }), "extent 4611686018427387904 * 4 does not fit in 64 bits");
  EXPECT_EQ(error_of([&] { large + large; }),
            "extent 4611686018427387904 + 4611686018427387904 does not fit in 64 bits");
  const std::int64_t sizes[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_EQ(error_of([&] { evaluate(rows * columns, sizes); }),
            "extent 1099511627776 * 1099511627776 does not fit in 64 bits");
}

TEST_F(ExtentTest, MixingTwoGraphsIsAnError) {
  Graph other("h");
  EXPECT_EQ(error_of([&] { rows + other.extent("n"); }),
            "extents rows and n belong to two graphs; take both from one");
}

TEST_F(ExtentTest, DivisorMustBePositive) {
  EXPECT_EQ(error_of([&] { floor_div(rows, 0); }),
            "floor_div(rows, 0): the divisor must be above 0");
}

TEST_F(ExtentTest, SymbolsNeedLegalNames) {
  EXPECT_EQ(error_of([&] { graph.extent("batch size"); }),
            "extent 'batch size': a symbol name consists of letters, digits and _ and is not "
            "floor_div, inf, nan, true or false");
  EXPECT_NE(error_of([&] { graph.extent("inf"); }), "(nothing thrown)");
  EXPECT_NE(error_of([&] { graph.extent(""); }), "(nothing thrown)");
  EXPECT_NE(error_of([&] { graph.extent("2d"); }), "(nothing thrown)");
}

TEST_F(ExtentTest, RejectsHugeExpressions) {
  EXPECT_EQ(error_of([&] {
              Extent sum = 0;
              for (int i = 0; i < 100; ++i) sum = sum + graph.extent("s" + std::to_string(i));
            }),
            "an extent is a sum of 65 products, but at most 64 are supported; simplify the shape");
  EXPECT_EQ(
      error_of([&] {
        Extent product = 1;
        for (int i = 0; i < 100; ++i) product = product * rows;
      }),
      "an extent is a product of 33 symbols, but at most 32 are supported; simplify the shape");
  EXPECT_NE(error_of([&] {
              Extent extent = rows;
              for (int i = 0; i < 100; ++i) extent = extent + floor_div(extent + columns, 7);
            }).find("simplify the shape"),
            std::string::npos);
}

}  // namespace
}  // namespace sinter::extent_test
