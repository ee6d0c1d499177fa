// The composites of sinter/ops.h: dtypes, number of roundings, and accuracy far from 0.
#include "sinter/gradient.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <gmock/gmock.h>

namespace sinter::composites_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

struct Rounding {
  const char* name;
  Tensor (*record)(Tensor);
};

const Rounding kRoundings[] = {
    {"trigamma", [](Tensor x) { return trigamma(x); }},
    {"sigmoid", [](Tensor x) { return sigmoid(x); }},
    {"gelu", [](Tensor x) { return gelu(x); }},
    {"softmax", [](Tensor x) { return softmax(x); }},
    {"log_softmax", [](Tensor x) { return log_softmax(x); }},
};

class CompositeRounding : public testing::TestWithParam<Rounding> {};

TEST_P(CompositeRounding, HalfIsTheF32ResultRoundedOnce) {
  const Reals x = {-3.25, -1.5, -0.375, 0.0625, 0.71875, 1.25, 2.5, 5.75};
  for (const DType dtype : {f16, bf16}) {
    const Expected half = value_of(array(dtype, x), GetParam().record);
    const Expected full = value_of(array(f32, x), GetParam().record);
    EXPECT_EQ(half.dtype, dtype);
    const HostArray rounded = array(dtype, full.reals);
    for (std::int64_t i = 0; i < half.size(); ++i) EXPECT_EQ(half.real(i), rounded.real_at(i));
  }
}

TEST_P(CompositeRounding, F32AndF64NeedNoCasts) {
  for (const DType dtype : {f32, f64}) {
    Graph graph("test");
    GetParam().record(graph.input("x", dtype, {3}));
    for (const Node* node : graph.data().nodes) EXPECT_NE(node->op, Op::cast);
  }
}

TEST_P(CompositeRounding, IntegersGiveF32) {
  const Expected whole = value_of(array(i32, {1, 2, 4}), GetParam().record);
  const Expected real = value_of(array(f32, {1, 2, 4}), GetParam().record);
  EXPECT_EQ(whole.dtype, f32);
  EXPECT_EQ(whole.reals, real.reals);
}

INSTANTIATE_TEST_SUITE_P(All, CompositeRounding, testing::ValuesIn(kRoundings),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(CompositesTest, GeluIsAccurateBelowZero) {
  for (const double x : {-10.0, -5.0, -1.0}) {
    const auto exact = static_cast<double>(x / 2 * std::erfc(-x * 0.70710678118654752440L));
    const Expected value = value_of(array(f32, {x}), [](Tensor y) { return gelu(y); });
    EXPECT_NEAR(value.reals[0], exact, 1e-5 * std::fabs(exact)) << x;
  }
}

TEST(CompositesTest, FracIsXMinusTrunc) {
  const auto record = [](Tensor x) { return frac(x); };
  EXPECT_THAT(value_of(array(f32, {2.75, -2.75, 3, -3, 0.5, -0.5, kInf, kNaN}), record).reals,
              ElementsAre(0.75, -0.75, 0, 0, 0.5, -0.5, testing::IsNan(), testing::IsNan()));
  const Expected half = value_of(array(bf16, {-1.25, 130}), record);
  EXPECT_EQ(half.dtype, bf16);
  EXPECT_THAT(half.reals, ElementsAre(-0.25, 0));
  const Expected whole = value_of(array(i8, {-7, 0, 7}), record);
  EXPECT_EQ(whole.dtype, i8);
  EXPECT_THAT(whole.integers, ElementsAre(0, 0, 0));
  const auto slope = [](Tensor x) { return gradient(sum(frac(x)), {x})[0]; };
  EXPECT_THAT(value_of(array(f64, {2.75, -2.75, 3}), slope).reals, ElementsAre(1, 1, 1));
}

TEST(CompositesTest, ReluKeepsTheDTypeOfIntegers) {
  const auto record = [](Tensor x) { return relu(x); };
  const Expected whole = value_of(array(i8, {-7, 0, 7}), record);
  EXPECT_EQ(whole.dtype, i8);
  EXPECT_THAT(whole.integers, ElementsAre(0, 0, 7));
  const Expected natural = value_of(array(u16, {0, 65535}), record);
  EXPECT_EQ(natural.dtype, u16);
  EXPECT_THAT(natural.integers, ElementsAre(0, 65535));
  EXPECT_EQ(value_of(array(boolean, {0, 1}), record).dtype, i64);
  EXPECT_EQ(value_of(array(f16, {-1}), record).dtype, f16);
}

TEST(CompositesTest, ErrorsNameTheComposite) {
  Graph graph("test");
  const Tensor x = graph.input("x", c64, {3});
  EXPECT_THAT(error_of([&] { softmax(x); }),
              HasSubstr("softmax: c64[3] is for storage only; cast it (recorded at composites_test"
                        ".cpp:"));
  EXPECT_THAT(error_of([&] { gelu(2.0); }), HasSubstr("gelu: every operand is a number"));
}

TEST(CompositesTest, ParsesInTextForm) {
  const Graph graph =
      parse("graph g(x: f16[3]) {\n  a = frac x\n  b = trigamma x\n  return a, b\n}");
  EXPECT_EQ(graph.data().outputs[0].node->op, Op::sub);
  EXPECT_EQ(graph.data().outputs[1].node->dtype, f16);
}

}  // namespace
}  // namespace sinter::composites_test
