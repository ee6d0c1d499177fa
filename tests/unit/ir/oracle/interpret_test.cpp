// The oracle, op by op: values, rounding, integer rules and undecided elements.
#include "ir/oracle/interpret.h"

#include "ir/types/half.h"
#include "sinter/error.h"
#include "tests/support/graphs/oracle_support.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::interpret_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Integers = std::vector<std::int64_t>;

std::vector<bool> undecided(const Expected& value) {
  std::vector<bool> result;
  for (std::int64_t i = 0; i < value.size(); ++i) result.push_back(value.is_undecided(i));
  return result;
}

TEST(InterpretTest, ExactOpsOnExactOperandsHaveNoBounds) {
  const Expected sum = value_of(array(f32, {1, 0.1, 3e38}), array(f32, {2, 0.2, 3e38}),
                                [](Tensor a, Tensor b) { return a + b; });
  EXPECT_THAT(sum.reals, ElementsAre(3.0, 0.1F + 0.2F, kInf));
  EXPECT_THAT(sum.bounds, IsEmpty());
}

TEST(InterpretTest, F64OpsRoundOnceAlthoughFormulasUseLongDouble) {
  const double a = 1 + 0x1p-30;
  const double b = 1 + 0x1p-52;
  const Expected product = value_of(array(f64, {a, 1 + 0x1p-52}), array(f64, {b, 1 - 0x1p-53}),
                                    [](Tensor x, Tensor y) { return x * y; });
  EXPECT_THAT(product.reals, ElementsAre(a * b, (1 + 0x1p-52) * (1 - 0x1p-53)));
  const Expected total = value_of(array(f64, {1.0, 0x1p60}), array(f64, {0x1.0000000001p-53, 129}),
                                  [](Tensor x, Tensor y) { return x + y; });
  EXPECT_THAT(total.reals, ElementsAre(1 + 0x1.0000000001p-53, 0x1p60 + 129));
}

TEST(InterpretTest, FmaRoundsOnceAtTiesOfLongDouble) {
  const HostArray x = array(f32, {1 + 0x1p-12});
  const HostArray y = array(f32, {0x1p-90});
  // x² is 1 + 2^-11 + 2^-24, a tie of f32. The sign of the tiny addend decides the rounding.
  EXPECT_THAT(value_of(x, y, [](Tensor a, Tensor b) { return fma(a, a, b); }).reals,
              ElementsAre(1 + 0x1p-11 + 0x1p-23));
  EXPECT_THAT(value_of(x, y, [](Tensor a, Tensor b) { return fma(a, a, -b); }).reals,
              ElementsAre(1 + 0x1p-11));
}

TEST(InterpretTest, HalfOpsRoundToF32AndThenToHalf) {
  // 1 + 2^-8 is a tie of bf16. The addend 2^-40 is lost in the rounding to f32.
  const Expected sum = value_of(array(bf16, {1 + 0x1p-7, 1}), array(bf16, {0x1p-8, 0x1p-8}),
                                [](Tensor a, Tensor b) { return a + b; });
  EXPECT_THAT(sum.reals, ElementsAre(1 + 0x1p-6, 1.0));
  const Expected fused = value_of(array(bf16, {0x1p-8}), array(bf16, {0x1p-20}),
                                  [](Tensor a, Tensor b) { return fma(b, b, a + 1.0) + a; });
  EXPECT_THAT(fused.reals, ElementsAre(1.0));
  EXPECT_THAT(fused.bounds, IsEmpty());
}

TEST(InterpretTest, ConstantOperandsOfHalvesAreF32) {
  const Expected product = value_of(array(bf16, {1000}), [](Tensor x) { return x * 0.1; });
  EXPECT_EQ(product.reals[0], bf16_value(bf16_bits(1000.0F * 0.1F)));
  const Expected chosen =
      value_of(array(bf16, {1, -1}), [](Tensor x) { return where(x > 0.0, x, 0.1); });
  EXPECT_THAT(chosen.reals, ElementsAre(1.0, bf16_value(bf16_bits(0.1))));
}

TEST(InterpretTest, BoundsAreUlpsAndPropagate) {
  const Expected e = value_of(array(f32, {1}), [](Tensor x) { return exp(x); });
  EXPECT_EQ(e.reals[0], static_cast<float>(M_E));
  EXPECT_NEAR(e.bound(0), 2 * 0x1p-22, 0x1p-23);
  // Multiplication by 2 doubles the error and adds no rounding.
  const Expected twice = value_of(array(f32, {1}), [](Tensor x) { return exp(x) * 2.0; });
  EXPECT_DOUBLE_EQ(twice.bound(0), 2 * e.bound(0));
  // A half result is inexact only near a tie.
  const Expected half = value_of(array(bf16, {1}), [](Tensor x) { return exp(x); });
  EXPECT_THAT(half.bounds, IsEmpty());
}

TEST(InterpretTest, RepeatedUsesOfAValueAreOneVariable) {
  const HostArray x = array(f32, {0.3});
  EXPECT_THAT(value_of(x, [](Tensor a) { return exp(a) - exp(a); }).bounds, IsEmpty());
  EXPECT_THAT(value_of(x, [](Tensor a) { return exp(a) / exp(a); }).bounds, IsEmpty());
  EXPECT_THAT(value_of(x, [](Tensor a) { return eq(exp(a), exp(a)); }).bounds, IsEmpty());
}

TEST(InterpretTest, NanAndInfinityFollowIeee) {
  const Expected value =
      value_of(array(f32, {kInf, -kInf, kNaN, 0, -1}), [](Tensor x) { return sqrt(x) * 0.0; });
  for (const double real : {value.reals[0], value.reals[1], value.reals[2], value.reals[4]})
    EXPECT_TRUE(std::isnan(real));
  EXPECT_EQ(value.reals[3], 0);
  EXPECT_THAT(value.bounds, IsEmpty());
}

TEST(InterpretTest, MaximumPropagatesNanAndOrdersZeros) {
  const HostArray x = array(f32, {kNaN, 1, -0.0, 0.0});
  const HostArray y = array(f32, {1, kNaN, 0.0, -0.0});
  const auto largest = [](Tensor a, Tensor b) { return maximum(a, b); };
  const auto smallest = [](Tensor a, Tensor b) { return minimum(a, b); };
  const Expected most = value_of(x, y, largest);
  const Expected least = value_of(x, y, smallest);
  EXPECT_TRUE(std::isnan(most.reals[0]) && std::isnan(most.reals[1]));
  EXPECT_TRUE(std::isnan(least.reals[0]) && std::isnan(least.reals[1]));
  EXPECT_FALSE(std::signbit(most.reals[2]) || std::signbit(most.reals[3]));
  EXPECT_TRUE(std::signbit(least.reals[2]) && std::signbit(least.reals[3]));
}

TEST(InterpretTest, ComparisonsAreUndecidedWithinTheError) {
  const HostArray x = array(f32, {1, 1, 1});
  const HostArray y = array(f32, {M_E, M_E + 1e-4, kNaN});
  const auto compare = [](Tensor a, Tensor b) { return exp(a) < b; };
  const Expected less = value_of(x, y, compare);
  EXPECT_THAT(undecided(less), ElementsAre(true, false, false));
  EXPECT_THAT(less.integers, ElementsAre(testing::_, 1, 0));
}

TEST(InterpretTest, UndecidedPropagatesOnlyThroughChosenOperands) {
  const HostArray x = array(f32, {1, 2});
  const HostArray y = array(f32, {M_E, 1});
  const auto choose = [](Tensor a, Tensor b) { return where(exp(a) < b, b, b + 1.0) * 2.0; };
  EXPECT_THAT(undecided(value_of(x, y, choose)), ElementsAre(true, false));
  const auto same = [](Tensor a, Tensor b) { return where(exp(a) < b, b, b * 1.0); };
  EXPECT_THAT(value_of(x, y, same).bounds, IsEmpty());
  const auto ignored = [](Tensor a, Tensor b) {
    const Tensor open = where(exp(a) < b, b, b + 1.0);
    return where(b > 2.0, b, open);
  };
  EXPECT_THAT(undecided(value_of(x, y, ignored)), ElementsAre(false, false));
}

TEST(InterpretTest, LogicIsDecidedIfTheUndecidedOperandIsIrrelevant) {
  const HostArray x = array(f32, {1, 1});
  const HostArray y = array(f32, {M_E, M_E});
  const auto record = [](auto combine) {
    return [combine](Tensor a, Tensor b) {
      const Tensor open = exp(a) < b;
      return combine(open, b > 100.0);
    };
  };
  const auto both = [](Tensor a, Tensor b) { return logical_and(a, b); };
  const auto either = [](Tensor a, Tensor b) { return logical_or(a, b); };
  EXPECT_THAT(value_of(x, y, record(both)).bounds, IsEmpty());
  EXPECT_THAT(undecided(value_of(x, y, record(either))), ElementsAre(true, true));
}

TEST(InterpretTest, FloorAndCastAreUndecidedNearWholeNumbers) {
  const HostArray x = array(f32, {0, 0.5});
  EXPECT_THAT(undecided(value_of(x, [](Tensor a) { return floor(exp(a)); })),
              ElementsAre(true, false));
  EXPECT_THAT(undecided(value_of(x, [](Tensor a) { return cast(exp(a), i32); })),
              ElementsAre(true, false));
  EXPECT_THAT(undecided(value_of(x, [](Tensor a) { return cast(exp(a), boolean); })),
              ElementsAre(false, false));
}

TEST(InterpretTest, PolesAndOverflowWithinTheErrorAreUndecided) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const HostArray x = array(f32, {1, 1, 200});
  const HostArray y = array(f32, {M_E, kLargest / M_E, 2});
  const Expected quotient = value_of(x, y, [](Tensor a, Tensor b) { return 1.0 / (exp(a) - b); });
  EXPECT_THAT(undecided(quotient), ElementsAre(true, false, false));
  const Expected product = value_of(x, y, [](Tensor a, Tensor b) { return exp(a) * b; });
  EXPECT_THAT(undecided(product), ElementsAre(false, true, false));
  EXPECT_EQ(product.reals[2], kInf);
  const Expected root = value_of(x, y, [](Tensor a, Tensor b) { return sqrt(exp(a) - b); });
  EXPECT_THAT(undecided(root), ElementsAre(true, false, false));
  EXPECT_TRUE(std::isnan(root.reals[1]));
}

TEST(InterpretTest, IntegersWrap) {
  const auto i32_min = static_cast<double>(INT32_MIN);
  const HostArray x = array(i32, {INT32_MAX, i32_min, i32_min, 65536});
  const HostArray y = array(i32, {1, 1, -1, 65536});
  EXPECT_THAT(value_of(x, y, [](Tensor a, Tensor b) { return a + b; }).integers,
              ElementsAre(INT32_MIN, INT32_MIN + 1, INT32_MAX, 131072));
  EXPECT_THAT(value_of(x, y, [](Tensor a, Tensor b) { return a * b; }).integers,
              ElementsAre(INT32_MAX, INT32_MIN, INT32_MIN, 0));
  EXPECT_THAT(value_of(x, [](Tensor a) { return abs(a); }).integers,
              ElementsAre(INT32_MAX, INT32_MIN, INT32_MIN, 65536));
  const Integers ends = {INT64_MAX, INT64_MIN};
  const HostArray wide = integer_array(i64, {2}, ends);
  EXPECT_THAT(value_of(wide, [](Tensor a) { return a + 1; }).integers,
              ElementsAre(INT64_MIN, INT64_MIN + 1));
  EXPECT_THAT(value_of(wide, [](Tensor a) { return a > 0; }).integers, ElementsAre(1, 0));
}

TEST(InterpretTest, CastsFromFloatsTruncateSaturateAndMapNanTo0) {
  const HostArray x = array(f32, {1.9, -1.9, 3e9, -3e9, kNaN, kInf, -0.0});
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, i32); }).integers,
              ElementsAre(1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX, 0));
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, i8); }).integers,
              ElementsAre(1, -1, INT8_MAX, INT8_MIN, 0, INT8_MAX, 0));
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, i64); }).integers,
              ElementsAre(1, -1, 3000000000, -3000000000, 0, INT64_MAX, 0));
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, boolean); }).integers,
              ElementsAre(1, 1, 1, 1, 1, 1, 0));
}

TEST(InterpretTest, CastsOfIntegersWrapAndRoundOnce) {
  const Integers values = {(1LL << 32) + 5, (1LL << 53) + 1, 256, -1};
  const HostArray x = integer_array(i64, {4}, values);
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, i32); }).integers,
              ElementsAre(5, 1, 256, -1));
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, boolean); }).integers,
              ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, f64); }).reals,
              ElementsAre(4294967301.0, 0x1p53, 256.0, -1.0));
  // The value differs from a tie of bf16 by less than the resolution of f32.
  const Integers near_tie = {(1LL << 40) + (1LL << 32) + 1};
  EXPECT_THAT(
      value_of(integer_array(i64, {1}, near_tie), [](Tensor a) { return cast(a, bf16); }).reals,
      ElementsAre(0x1p40 + 0x1p33));
}

TEST(InterpretTest, CastsFromF64ToHalfRoundOnce) {
  const HostArray x = array(f64, {1 + 0x1p-8 + 0x1p-40});
  EXPECT_THAT(value_of(x, [](Tensor a) { return cast(a, bf16); }).reals, ElementsAre(1 + 0x1p-7));
}

TEST(InterpretTest, BroadcastsFromTheRight) {
  const HostArray x = array(f32, {2, 1}, {10, 20});
  const HostArray y = array(f32, {1, 2, 3});
  const Expected sum = value_of(x, y, [](Tensor a, Tensor b) { return a + b; });
  EXPECT_THAT(sum.shape, ElementsAre(2, 3));
  EXPECT_THAT(sum.reals, ElementsAre(11, 12, 13, 21, 22, 23));
}

TEST(InterpretTest, StructuralOpsMoveElements) {
  const HostArray x = array(f32, {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(value_of(x,
                       [](Tensor a) {
                         return permute(a, {1, 0});
                       })
                  .reals,
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(value_of(x,
                       [](Tensor a) {
                         return reshape(permute(a, {1, 0}), {2, -1});
                       })
                  .reals,
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(value_of(x, [](Tensor a) { return slice(a, 1, 0, 3, 2); }).reals,
              ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(value_of(x, [](Tensor a) { return slice(a, 0, -1, 2); }).reals, ElementsAre(3, 4, 5));
  EXPECT_THAT(value_of(x,
                       [](Tensor a) {
                         return concat({a, slice(a, 1, 0, 1)}, 1);
                       })
                  .reals,
              ElementsAre(0, 1, 2, 0, 3, 4, 5, 3));
  EXPECT_THAT(value_of(x,
                       [](Tensor a) {
                         return concat({a, a}, 0);
                       })
                  .reals,
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
  const HostArray column = array(f32, {2, 1}, {7, 8});
  EXPECT_THAT(value_of(column,
                       [](Tensor a) {
                         return broadcast_to(a, {2, 2, 2});
                       })
                  .reals,
              ElementsAre(7, 7, 8, 8, 7, 7, 8, 8));
}

TEST(InterpretTest, IndicesWrapOnceAndAreClamped) {
  const HostArray x = array(f32, {2, 3}, {0, 1, 2, 3, 4, 5});
  const HostArray indices = array(i32, {-1, 7, -9, 1});
  const Expected taken = value_of(x, indices, [](Tensor a, Tensor i) { return take(a, i, 1); });
  EXPECT_THAT(taken.shape, ElementsAre(2, 4));
  EXPECT_THAT(taken.reals, ElementsAre(2, 2, 0, 1, 5, 5, 3, 4));
  const HostArray grid = array(i64, {1, 2}, {1, 0});
  const Expected rows = value_of(x, grid, [](Tensor a, Tensor i) { return take(a, i, 0); });
  EXPECT_THAT(rows.shape, ElementsAre(1, 2, 3));
  EXPECT_THAT(rows.reals, ElementsAre(3, 4, 5, 0, 1, 2));
  const HostArray each = array(i64, {2, 2}, {2, 0, -3, 1});
  EXPECT_THAT(value_of(x, each, [](Tensor a, Tensor i) { return take_along_axis(a, i, 1); }).reals,
              ElementsAre(2, 0, 3, 4));
}

TEST(InterpretTest, UndecidedIndexGivesAnUndecidedElement) {
  const HostArray x = array(f32, {0, 1});
  const auto record = [](Tensor a) { return take(a + 3.0, cast(exp(a), i32), 0); };
  EXPECT_THAT(undecided(value_of(x, record)), ElementsAre(true, false));
}

TEST(InterpretTest, SourcesReturnTheirValues) {
  Graph graph("sources");
  const Extent rows = graph.extent("rows");
  const Tensor lr = graph.scalar("lr", f32);
  EXPECT_THAT(value_of(graph, full(graph, {2}, 0.1, f32), {}, {3}).reals, ElementsAre(0.1F, 0.1F));
  EXPECT_THAT(value_of(graph, full(graph, {1}, 0.1, bf16), {}, {3}).reals,
              ElementsAre(bf16_value(bf16_bits(0.1))));
  EXPECT_THAT(value_of(graph, iota(graph, rows, 5, -2), {}, {3}).integers, ElementsAre(5, 3, 1));
  EXPECT_THAT(value_of(graph, lr * 2.0, {{"lr", array(f32, {}, {0.5})}}, {3}).reals,
              ElementsAre(1.0));
}

TEST(InterpretTest, ReadsStridedInputs) {
  Graph graph("strided");
  const Tensor x = graph.input("x", f32, {2, 2}, {.strides = std::vector<Extent>{1, 3}});
  graph.output("y", x + 0.0);
  HostArray columns(f32, {2, 2}, {1, 3});
  for (std::int64_t i = 0; i < 5; ++i) columns.set_real_at(i, static_cast<double>(i));
  EXPECT_THAT(interpret(graph, {{"x", columns}}, {}).outputs.at("y").reals,
              ElementsAre(0, 3, 1, 4));
}

TEST(InterpretTest, ReturnsUpdatesAndReadsOldContents) {
  Graph graph("step");
  const Tensor w = graph.input("w", f32, {2});
  const Tensor next = w * 2.0;
  graph.update(w, next);
  graph.output("w", w + next);
  const Interpretation result = interpret(graph, {{"w", array(f32, {1, 2})}}, {});
  EXPECT_THAT(result.updates.at("w").reals, ElementsAre(2, 4));
  EXPECT_THAT(result.outputs.at("w").reals, ElementsAre(3, 6));
}

TEST(InterpretTest, RejectsWrongInputsWithTheirTypes) {
  Graph graph("inputs");
  const Extent rows = graph.extent("rows");
  graph.output("y", graph.input("x", f32, {rows, 2}) + 1.0);
  const auto message = [&](const HostArrays& inputs) -> std::string {
    try {
      interpret(graph, inputs, std::vector<std::int64_t>{3});
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "input x: it is not given; the graph says f32[rows, 2]");
  EXPECT_EQ(message({{"x", HostArray(f32, {4, 2})}}),
            "input x: the array is f32[4, 2] but the graph says f32[rows, 2], which is [3, 2]");
  EXPECT_EQ(message({{"x", HostArray(f16, {3, 2})}}),
            "input x: the array is f16[3, 2] but the graph says f32[rows, 2], which is [3, 2]");
}

}  // namespace
}  // namespace sinter::interpret_test
