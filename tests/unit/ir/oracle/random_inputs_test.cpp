// random_inputs: reproducible values in range, and poison in the padding of strided arrays.
#include "ir/oracle/random_inputs.h"

#include "sinter/ops.h"
#include "tests/support/files/errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::random_inputs_test {
namespace {

std::vector<double> values(const HostArray& array) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < array.size(); ++i)
    result.push_back(array.real(unravel_index(array.shape(), i)));
  return result;
}

double lowest(const HostArray& array) { return std::ranges::min(values(array)); }
double highest(const HostArray& array) { return std::ranges::max(values(array)); }

class RandomInputsTest : public testing::Test {
 protected:
  Graph graph{"random"};
  HostArrays draw(std::uint64_t seed = 1, std::vector<std::int64_t> symbols = {}) {
    return random_inputs(graph, symbols, seed);
  }
};

TEST_F(RandomInputsTest, DependOnlyOnSeedAndName) {
  graph.input("x", f32, {100});
  graph.input("y", f32, {100});
  const HostArrays first = draw(1);
  EXPECT_TRUE(equal_bits(first.at("x"), draw(1).at("x")));
  EXPECT_FALSE(equal_bits(first.at("x"), draw(2).at("x")));
  EXPECT_FALSE(equal_bits(first.at("x"), first.at("y")));
  Graph other("other");
  other.input("y", f32, {100});
  EXPECT_TRUE(equal_bits(first.at("y"), random_inputs(other, {}, 1).at("y")));
}

TEST_F(RandomInputsTest, FloatsFillTheirRangeEvenly) {
  graph.input("x", f32, {10000});
  graph.input("w", bf16, {10000}, {.low = 0.5, .high = 1.5});
  graph.scalar("lr", f32);
  const HostArrays arrays = draw();
  EXPECT_GE(lowest(arrays.at("x")), -2);
  EXPECT_LT(highest(arrays.at("x")), 2);
  EXPECT_LT(lowest(arrays.at("x")), -1.99);
  EXPECT_GT(highest(arrays.at("x")), 1.99);
  EXPECT_GE(lowest(arrays.at("w")), 0.5);
  EXPECT_LE(highest(arrays.at("w")), 1.5);
  double sum = 0;
  for (const double value : values(arrays.at("x"))) sum += value;
  // Six standard deviations of the mean of 10,000 uniform numbers.
  EXPECT_LT(std::fabs(sum / 10000), 0.07);
  EXPECT_EQ(arrays.at("lr").size(), 1);
}

TEST_F(RandomInputsTest, IntegersAndBoolsTakeAllTheirValues) {
  graph.input("i", i32, {1000});
  graph.input("j", i64, {1000}, {.low = 3, .high = 4});
  graph.input("b", boolean, {1000});
  const HostArrays arrays = draw();
  EXPECT_EQ(lowest(arrays.at("i")), -8);
  EXPECT_EQ(highest(arrays.at("i")), 8);
  const std::vector<double> j = values(arrays.at("j"));
  EXPECT_THAT(std::set<double>(j.begin(), j.end()), testing::ElementsAre(3, 4));
  const std::vector<double> b = values(arrays.at("b"));
  EXPECT_THAT(std::set<double>(b.begin(), b.end()), testing::ElementsAre(0, 1));
}

TEST_F(RandomInputsTest, IndicesAreInRangeOfTheirAxis) {
  const Extent vocabulary = graph.extent("vocabulary");
  const Tensor table = graph.input("table", f32, {vocabulary, 4});
  const Tensor tokens = graph.input("tokens", i32, {50, 20});
  const Tensor places = graph.input("places", i64, {50, 1});
  const Tensor wide = cast(reshape(permute(tokens, {1, 0}), {1000}), i64);
  graph.output("rows", take(table, where(wide < 0, wide + 7, wide), 0));
  graph.output("row", take_along_axis(cast(tokens, f32), places, 1));
  const HostArrays arrays = draw(1, {30});
  EXPECT_EQ(lowest(arrays.at("tokens")), 0);
  EXPECT_EQ(highest(arrays.at("tokens")), 29);
  EXPECT_GE(lowest(arrays.at("places")), 0);
  EXPECT_LE(highest(arrays.at("places")), 19);
}

TEST_F(RandomInputsTest, GivenRangeOverridesTheRangeOfIndices) {
  const Tensor table = graph.input("table", f32, {30});
  const Tensor places = graph.input("places", i64, {1000}, {.low = -40, .high = 40});
  graph.output("y", take(table, places, 0));
  EXPECT_EQ(lowest(draw().at("places")), -40);
  EXPECT_EQ(highest(draw().at("places")), 40);
}

TEST_F(RandomInputsTest, StridesKeepElementsAndPaddingIsPoison) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    Graph dense("dense");
    Graph padded("padded");
    dense.input("x", dtype, {4, 3});
    padded.input("x", dtype, {4, 3}, {.strides = std::vector<Extent>{5, 1}});
    const HostArrays plain = random_inputs(dense, {}, 1);
    const HostArrays strided = random_inputs(padded, {}, 1);
    EXPECT_TRUE(equal_bits(plain.at("x"), strided.at("x")));
    EXPECT_TRUE(std::isnan(strided.at("x").real_at(3)));
    EXPECT_TRUE(std::isnan(strided.at("x").real_at(4)));
  }
}

TEST_F(RandomInputsTest, EmptyInputsAreEmpty) {
  graph.input("x", f32, {0, 5});
  EXPECT_EQ(draw().at("x").size(), 0);
}

// Sanitizers abort on huge allocations.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(RandomInputs, NameTheInputThatIsTooLarge) {
  Graph graph("g");
  graph.output("y", neg(graph.input("x", f32, {graph.extent("rows"), 64})));
  EXPECT_EQ(test::error_of([&] { random_inputs(graph, std::array{std::int64_t{1} << 50}, 0); }),
            "input x: f32[1125899906842624, 64] does not fit in memory; choose smaller sizes");
}
#endif

}  // namespace
}  // namespace sinter::random_inputs_test
