// Matrix products and attention: shapes, messages, text form, values, bounds and gradients.
#include "sinter/library_ops.h"

#include "ir/record/opaque.h"
#include "ir/verify/verify.h"
#include "sinter/nn.h"
#include "sinter/text.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/gradient_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::matmul_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

class MatmulTest : public testing::Test {
 protected:
  Tensor input(const char* name, DType dtype, Extents shape) {
    return graph.input(name, dtype, shape);
  }
  Graph graph{"g"};
};

TEST_F(MatmulTest, BroadcastsLeadingAxesAsNumPy) {
  const Extent rows = graph.extent("rows");
  const Tensor a = input("a", bf16, {7, 1, rows, 8});
  const Tensor b = input("b", bf16, {5, 8, 16});
  EXPECT_EQ(type_text(*matmul(a, b).node()), "bf16[7, 5, rows, 16]");
  EXPECT_EQ(type_text(*matmul(b, a, {.transpose_a = true, .transpose_b = true}).node()),
            "bf16[7, 5, 16, rows]");
  EXPECT_EQ(type_text(*matmul(a, b, {.result = f32}).node()), "f32[7, 5, rows, 16]");
  verify(graph);
}

TEST_F(MatmulTest, VectorsAreRowsOrColumns) {
  const Tensor m = input("m", f32, {2, 3, 4});
  const Tensor of_rows = input("of_rows", f32, {3});
  const Tensor of_columns = input("of_columns", f32, {4});
  EXPECT_EQ(type_text(*matmul(of_rows, m).node()), "f32[2, 4]");
  EXPECT_EQ(type_text(*matmul(m, of_columns).node()), "f32[2, 3]");
  EXPECT_EQ(type_text(*matmul(of_rows, of_rows).node()), "f32[]");
}

TEST_F(MatmulTest, ReadsTheOperandsOfTransposedViews) {
  const Tensor a = input("a", f32, {5, 4, 3});
  const Tensor b = input("b", f32, {5, 4, 6});
  EXPECT_EQ(matmul(transpose(a, 1, 2), b).node(), matmul(a, b, {.transpose_a = true}).node());
  const Tensor moved = permute(a, {1, 0, 2});
  EXPECT_EQ(matmul(moved, input("c", f32, {3, 2})).node()->operand(0), moved.node());
}

TEST_F(MatmulTest, ResultsOfEightBitOperandsAreWider) {
  const Tensor i = input("i", i8, {4, 8});
  EXPECT_EQ(matmul(i, i, {.transpose_b = true}).dtype(), i32);
  const Tensor x = input("x", f8e4m3, {4, 8});
  const Tensor y = input("y", f8e5m2, {8, 4});
  EXPECT_EQ(matmul(x, y).dtype(), bf16);
  EXPECT_EQ(matmul(x, y, {.result = f16}).dtype(), f16);
}

TEST_F(MatmulTest, MessagesNameShapesAndDtypes) {
  const Tensor a = input("a", f32, {3, 4});
  const auto message = [&](Tensor left, Tensor right, const MatmulOptions& options = {}) {
    return error_of(
        [&] { matmul(Operand(left, "m.cpp", 7), Operand(right, "m.cpp", 7), options); });
  };
  EXPECT_EQ(message(a, a),
            "matmul: a [m, k] is f32[3, 4] and b [k, n] is f32[3, 4], so k is 4 and 3; the two "
            "must be equal (recorded at m.cpp:7)");
  EXPECT_EQ(message(a, a, {.transpose_a = true, .transpose_b = true}),
            "matmul: a [k, m] is f32[3, 4] and b [n, k] is f32[3, 4], so k is 3 and 4; the two "
            "must be equal (recorded at m.cpp:7)");
  EXPECT_EQ(message(input("b2", f32, {2, 3, 4}), input("b3", f32, {3, 4, 5})),
            "matmul: the leading axes of f32[2, 3, 4] and f32[3, 4, 5] do not broadcast: axis 0 is "
            "2 and 3 (recorded at m.cpp:7)");
  EXPECT_EQ(message(a, input("h", f16, {4, 3})),
            "matmul: a is f32[3, 4] and b f16[4, 3]; both must be f16, bf16, f32, f64 or i8, or "
            "each f8e4m3 or f8e5m2; cast them (recorded at m.cpp:7)");
  EXPECT_EQ(message(a, input("s", f32, {})),
            "matmul: an operand is f32[]; it must have an axis (recorded at m.cpp:7)");
  EXPECT_EQ(message(a, input("w", f32, {4, 5}), {.result = f16}),
            "matmul: the result of f32[3, 4] and f32[4, 5] cannot be f16; leave it f32 and cast it "
            "(recorded at m.cpp:7)");
  EXPECT_THAT(error_of([&] { matmul(a, 2.0); }), HasSubstr("matmul: "));
}

TEST_F(MatmulTest, TextFormRoundTrips) {
  const Tensor a = input("a", bf16, {3, 4});
  const Tensor b = input("b", bf16, {5, 4});
  graph.output("y", matmul(a, b, {.transpose_b = true, .result = f32}));
  graph.output("z", matmul(b, a, {.transpose_b = true}));
  const std::string text = print(graph);
  EXPECT_THAT(text, HasSubstr("y = matmul a, b {transpose_b = true, result = f32}\n"));
  EXPECT_THAT(text, HasSubstr("z = matmul b, a {transpose_b = true}\n"));
  EXPECT_EQ(print(parse(text)), text);
}

TEST_F(MatmulTest, NoUserFunctionHasItsName) {
  const Tensor a = input("a", f32, {4, 4});
  EXPECT_EQ(error_of([&] { opaque("matmul", {a}, {}, {}, "m.cpp", 7); }),
            "opaque matmul: matmul is a library op; record it with matmul (recorded at m.cpp:7)");
  EXPECT_EQ(
      error_of([&] { register_opaque("conv", {.enqueue = [](const OpaqueCall&) { return 0; }}); }),
      "register_opaque conv: this is the name of a library op; use another name");
}

// --- Values and bounds ---------------------------------------------------------------------------

TEST_F(MatmulTest, SumsProductsOfRowsAndColumns) {
  const Tensor a = input("a", f32, {2, 3});
  const Tensor b = input("b", f32, {2, 3, 2});
  const HostArrays values = {{"a", array(f32, {2, 3}, {1, 2, 3, 4, 5, 6})},
                             {"b", array(f32, {2, 3, 2}, {1, 0, 0, 1, 0, 0, 1, 2, 3, 4, 5, 6})}};
  EXPECT_THAT(value_of(graph, matmul(a, b), values).reals,
              ElementsAre(1, 2, 4, 5, 22, 28, 49, 64));
  EXPECT_THAT(value_of(graph, matmul(b, a, {.transpose_a = true, .transpose_b = true}), values).reals,
              ElementsAre(1, 4, 2, 5, 22, 49, 28, 64));
  const Tensor v = input("v", f32, {3});
  EXPECT_THAT(value_of(graph, matmul(v, v), {{"v", array(f32, {1, 2, 3})}}).reals, ElementsAre(14));
}

TEST_F(MatmulTest, IntegersAreExactModulo32Bits) {
  const Tensor a = input("a", i8, {1, 2});
  const Expected y = value_of(graph, matmul(a, a, {.transpose_b = true}),
                              {{"a", array(i8, {1, 2}, {-128, 127})}});
  EXPECT_THAT(y.integers, ElementsAre(128 * 128 + 127 * 127));
  EXPECT_EQ(y.bound(0), 0);
}

TEST_F(MatmulTest, BoundsHoldForAnyOrderOfSums) {
  constexpr std::int64_t kTerms = 1000;
  const Tensor a = input("a", f32, {1, kTerms});
  const HostArrays values = {{"a", [] {
                                HostArray result(f32, {1, kTerms});
                                const HostArray any = random({1, kTerms});
                                for (std::int64_t i = 0; i < kTerms; ++i)
                                  result.set_real_at(i, any.real_at(i));
                                return result;
                              }()}};
  const Expected y = value_of(graph, matmul(a, a, {.transpose_b = true}), values);
  float up = 0;
  float down = 0;
  for (std::int64_t i = 0; i < kTerms; ++i) {
    const auto one = static_cast<float>(values.at("a").real_at(i));
    const auto other = static_cast<float>(values.at("a").real_at(kTerms - 1 - i));
    up += one * one;
    down += other * other;
  }
  EXPECT_NE(up, down);  // else the test shows nothing
  EXPECT_LE(std::fabs(up - y.reals[0]), y.bound(0));
  EXPECT_LE(std::fabs(down - y.reals[0]), y.bound(0));
  EXPECT_LT(y.bound(0), 1e-3 * y.reals[0]);
  const Expected rounded =
      value_of(graph, matmul(a, a, {.transpose_b = true, .allow_tf32 = true}), values);
  EXPECT_GT(rounded.bound(0), 4 * y.bound(0));
}

/// Tensor cores align the terms of a sum with the largest one, and cut off what is below its bits.
TEST_F(MatmulTest, BoundsHoldForTruncatedSums) {
  constexpr std::int64_t kTerms = 65;
  struct Case {
    DType dtype;
    double left, right;  ///< their product is just below the last bit that a sum of 1 keeps
  };
  for (const auto& [dtype, left, right] :
       {Case{f16, 0x1.fcp-12, 0x1p-12}, Case{bf16, 0x1.fcp-12, 0x1p-12},
        Case{f8e4m3, 0x1.ep-6, 0x1p-8}, Case{f8e5m2, 0x1.cp-6, 0x1p-8}}) {
    Graph products("g");
    Reals of_a(kTerms, left), of_b(kTerms, right);
    of_a[0] = of_b[0] = 1;
    const Tensor a = products.input("a", dtype, {1, kTerms});
    const Tensor b = products.input("b", dtype, {1, kTerms});
    const Expected y =
        value_of(products, matmul(a, b, {.transpose_b = true, .result = f32}),
                 {{"a", array(dtype, {1, kTerms}, of_a)}, {"b", array(dtype, {1, kTerms}, of_b)}});
    EXPECT_GT(y.reals[0], 1) << name(dtype);
    EXPECT_LE(y.reals[0] - 1, y.bound(0)) << name(dtype);
    EXPECT_LT(y.bound(0), 3 * (y.reals[0] - 1)) << name(dtype);
  }
}

TEST_F(MatmulTest, SumsOfTooManyTermsAreUndecided) {
  const std::int64_t terms = 8192;
  const Tensor a = input("a", f8e4m3, {1, terms});
  const Tensor b = input("b", f8e4m3, {1, terms});
  const Reals ones(static_cast<std::size_t>(terms), 1);
  const Expected y = value_of(graph, matmul(a, b, {.transpose_b = true, .result = f32}),
                              {{"a", array(f8e4m3, {1, terms}, ones)},
                               {"b", array(f8e4m3, {1, terms}, ones)}});
  EXPECT_EQ(y.reals[0], 8192);
  EXPECT_TRUE(y.is_undecided(0));
}

TEST_F(MatmulTest, SumsThatMayOverflowAreUndecided) {
  const Tensor a = input("a", f32, {1, 2});
  const Tensor b = input("b", f32, {2, 1});
  const auto result = [&](double x, double y) {
    return value_of(graph, matmul(a, b),
                    {{"a", array(f32, {1, 2}, {x, y})}, {"b", array(f32, {2, 1}, {1, 1})}});
  };
  EXPECT_TRUE(result(3e38, 3e38).is_undecided(0));
  EXPECT_FALSE(result(1e38, 1e38).is_undecided(0));
  EXPECT_EQ(result(kInf, 1).reals[0], kInf);
  EXPECT_TRUE(std::isnan(result(kInf, -kInf).reals[0]));
  EXPECT_EQ(result(kInf, -kInf).bound(0), 0);
}

// --- Gradients -----------------------------------------------------------------------------------

TEST(MatmulGradient, MatchesDifferencesForAllTransposes) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      expect_differences(
          [&](const Tensors& x) {
            return matmul(x[0], x[1], {.transpose_a = transpose_a, .transpose_b = transpose_b});
          },
          {transpose_a ? random({2, 3, 2}) : random({2, 2, 3}),
           transpose_b ? random({1, 2, 3}, -2, 2, 2) : random({1, 3, 2}, -2, 2, 2)});
}

TEST(MatmulGradient, OneMatrixForAllBatches) {
  expect_differences([](const Tensors& x) { return matmul(x[0], x[1]); },
                     {random({2, 2, 2, 3}), random({3, 2}, -2, 2, 2)});
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {8, 16, 4});
  const Tensor w = graph.input("w", f32, {4, 4});
  const Tensor loss = sum(matmul(x, w));
  const Node& product = *gradient(loss, {w})[0].node();
  EXPECT_EQ(product.op, Op::matmul) << "the cotangent of w is one product over all rows";
  EXPECT_EQ(type_text(*product.operand(0)), "f32[128, 4]");
}

TEST(MatmulGradient, VectorsAndWideResults) {
  expect_differences([](const Tensors& x) { return matmul(x[0], x[1]); },
                     {random({3}), random({3}, -2, 2, 2)});
  Graph graph("g");
  const Tensor x = graph.input("x", bf16, {8, 4});
  const Tensor loss = sum(matmul(x, x, {.transpose_b = true, .result = f32}));
  EXPECT_EQ(type_text(*gradient(loss, {x})[0].node()), "bf16[8, 4]");
  verify(graph);
}

// --- Attention -----------------------------------------------------------------------------------

/// softmax(scale q kT) v of one head, written out.
Reals attended(const Reals& q, const Reals& k, const Reals& v, int positions, int width,
               bool is_causal) {
  const auto at = [&](const Reals& x, int row, int column) {
    return x[static_cast<std::size_t>(row * width + column)];
  };
  Reals result;
  for (int i = 0; i < positions; ++i) {
    Reals weights;
    double total = 0;
    for (int j = 0; j < (is_causal ? i + 1 : positions); ++j) {
      double score = 0;
      for (int d = 0; d < width; ++d) score += at(q, i, d) * at(k, j, d);
      weights.push_back(std::exp(score / std::sqrt(width)));
      total += weights.back();
    }
    for (int d = 0; d < width; ++d) {
      double sum = 0;
      for (std::size_t j = 0; j < weights.size(); ++j)
        sum += weights[j] / total * at(v, static_cast<int>(j), d);
      result.push_back(sum);
    }
  }
  return result;
}

TEST(Attention, MatchesItsFormula) {
  const Reals q = uniform(12, -1, 1, 1);
  const Reals k = uniform(12, -1, 1, 2);
  const Reals v = uniform(12, -1, 1, 3);
  Graph graph("g");
  const Tensor of_q = graph.input("q", f64, {4, 3});
  const Tensor of_k = graph.input("k", f64, {4, 3});
  const Tensor of_v = graph.input("v", f64, {4, 3});
  const HostArrays values = {
      {"q", array(f64, {4, 3}, q)}, {"k", array(f64, {4, 3}, k)}, {"v", array(f64, {4, 3}, v)}};
  for (const bool is_causal : {false, true}) {
    const Tensor y = attention(of_q, of_k, of_v, {.is_causal = is_causal});
    const Reals expected = attended(q, k, v, 4, 3, is_causal);
    const Expected found = value_of(graph, y, values);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found.reals[i], expected[i], 1e-12) << i;
  }
  const Tensor mask = graph.input("mask", boolean, {4, 4});
  HostArrays with_mask = values;
  with_mask["mask"] =
      array(boolean, {4, 4}, {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1});
  EXPECT_EQ(value_of(graph, attention(of_q, of_k, of_v, mask), with_mask).reals,
            value_of(graph, attention(of_q, of_k, of_v, {.is_causal = true}), values).reals);
}

TEST(Attention, HeadsShareKeysAndValues) {
  const HostArray q = random({2, 4, 3, 2});
  const HostArray k = random({2, 2, 5, 2}, -2, 2, 2);
  const HostArray v = random({2, 2, 5, 3}, -2, 2, 3);
  Graph graph("g");
  const Tensor of_q = graph.input("q", f64, {2, 4, 3, 2});
  const Tensor of_k = graph.input("k", f64, {2, 2, 5, 2});
  const Tensor of_v = graph.input("v", f64, {2, 2, 5, 3});
  const Tensor y = attention(of_q, of_k, of_v);
  EXPECT_EQ(type_text(*y.node()), "f64[2, 4, 3, 3]");
  const Tensor repeated =
      attention(of_q, repeat(of_k, 2, 1), repeat(of_v, 2, 1));
  const HostArrays values = {{"q", q}, {"k", k}, {"v", v}};
  EXPECT_EQ(value_of(graph, y, values).reals, value_of(graph, repeated, values).reals);
  EXPECT_THAT(error_of([&] { attention(of_q, graph.input("odd", f64, {2, 3, 5, 2}), of_v); }),
              HasSubstr("attention: q is f64[2, 4, 3, 2] and k f64[2, 3, 5, 2]; the heads of q, "
                        "axis -3, must be a multiple of those of k"));
}

TEST(Attention, RefusesMasksAndHeadsThatDoNotFit) {
  Graph graph("g");
  const Tensor q = graph.input("q", f64, {4, 3, 2});
  const Tensor k = graph.input("k", f64, {4, 5, 2});
  const auto message = [&](const Operand& mask) {
    return error_of([&] { attention(Operand(q, "m.cpp", 7), k, k, mask); });
  };
  EXPECT_EQ(message(graph.input("more", boolean, {2, 4, 3, 5})),
            "attention: the mask is bool[2, 4, 3, 5], but the products of q and k are f64[4, 3, "
            "5]; it must broadcast to their shape (recorded at m.cpp:7)");
  EXPECT_THAT(message(0.5), HasSubstr("attention: every operand is a number"));
  Graph other("other");
  EXPECT_THAT(message(other.input("far", boolean, {3, 5})),
              HasSubstr("attention: the operands belong to two graphs"));
  const Tensor none = graph.input("none", f64, {0, 5, 2});
  EXPECT_THAT(error_of([&] { attention(q, none, none); }),
              HasSubstr("the heads of q, axis -3, must be a multiple of those of k"));
}

TEST(Attention, RowsThatSeeNothingAreNaN) {
  Graph graph("g");
  const Tensor x = graph.input("x", f64, {2, 1});
  const Tensor mask = graph.input("mask", boolean, {2, 2});
  const Expected y =
      value_of(graph, attention(x, x, x, mask),
               {{"x", array(f64, {2, 1}, {1, 2})}, {"mask", array(boolean, {2, 2}, {0, 0, 0, 1})}});
  EXPECT_TRUE(std::isnan(y.reals[0]));
  EXPECT_EQ(y.reals[1], 2);
}

TEST(Attention, HasAGradient) {
  expect_differences(
      [](const Tensors& x) { return attention(x[0], x[1], x[2], {.is_causal = true}); },
      {random({3, 2}), random({3, 2}, -2, 2, 2), random({3, 2}, -2, 2, 3)});
}

}  // namespace
}  // namespace sinter::matmul_test
