// gradient(): each op of the table compared with central differences, and the results and errors of
// calls.
#include "ir/record/record.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/gradient_support.h"

#include <gmock/gmock.h>

namespace sinter::gradient_test {
namespace {

using test::error_of;
using testing::Each;
using testing::ElementsAre;
// --- The rows of the table -----------------------------------------------------------------------

/// Values for one operand, away from points without a derivative.
HostArray sample(const OpInfo& row, std::size_t operand, std::vector<std::int64_t> shape) {
  const std::uint64_t seed = 3 + operand;
  HostArray values = random(std::move(shape), 0, 1, seed);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double share = values.real_at(i);
    const double sign = i % 2 == 0 ? 1 : -1;
    double value = 4 * share - 2;
    switch (row.inputs) {
      case Inputs::Any:
      case Inputs::Small: break;
      case Inputs::Unit: value = 1.8 * share - 0.9; break;
      case Inputs::Positive: value = 0.5 + 2.5 * share; break;
      case Inputs::AboveOne: value = 1.25 + 2.75 * share; break;
      case Inputs::NonZero: value = sign * (0.5 + 2.5 * share); break;
      case Inputs::Fraction: value = std::floor(8 * share) - 4 + 0.1 + 0.8 * share; break;
      // Operands are on two interleaved grids, so they are never equal.
      case Inputs::Distinct:
        value = std::floor(8 * share) + 0.5 * static_cast<double>(operand);
        break;
    }
    values.set_real_at(i, value);
  }
  return values;
}

class ElementwiseGradient : public testing::TestWithParam<Op> {};

TEST_P(ElementwiseGradient, MatchesDifferencesForBroadcastOperands) {
  const OpInfo& row = info(GetParam());
  const std::vector<std::int64_t> shapes[] = {{3, 1, 4}, {2, 1}, {4}};
  Arrays arrays;
  for (std::size_t i = 0; i < static_cast<std::size_t>(row.arity); ++i)
    arrays.push_back(row.types == TypeRule::Where && i == 0
                         ? array(boolean, shapes[i], {1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0})
                         : sample(row, i, shapes[i]));
  expect_differences(
      [&](const Tensors& inputs) {
        const std::vector<Operand> operands(inputs.begin(), inputs.end());
        return record_elementwise(row.op, operands);
      },
      arrays);
}

class ReductionGradient : public testing::TestWithParam<Op> {};

TEST_P(ReductionGradient, MatchesCentralDifferences) {
  const Op op = GetParam();
  std::vector<std::int64_t> axes = {0, 2};
  if (gives_index(op)) axes = {1};
  for (const Keep kept : {Keep::no, Keep::yes}) {
    ReductionOptions options{.keep = kept};
    if (op == Op::var) options.correction = 1;
    expect_differences([&](const Tensors& x) { return record_reduction(op, x[0], axes, options); },
                       {random({3, 2, 4})});
  }
}

class ScanGradient : public testing::TestWithParam<Op> {};

TEST_P(ScanGradient, MatchesCentralDifferences) {
  for (const ScanOptions options : {ScanOptions{}, ScanOptions{.exclusive = true, .reverse = true}})
    expect_differences(
        [&](const Tensors& x) {
          const Tensor y = record_scan(GetParam(), x[0], 1, options);
          const Tensor is_number = isfinite(y);
          return where(is_number, y, 0);  // an exclusive scan may begin with an infinity
        },
        {random({2, 5, 2})});
}

std::vector<Op> ops_of(OpKind kind) {
  std::vector<Op> ops;
  for (const OpInfo& row : op_table())
    if (row.kind == kind && (supports_dtype(row.types, f64) || row.types == TypeRule::Logical))
      ops.push_back(row.op);
  return ops;
}

// This function is not a lambda, because inside the macro `info` is a parameter of the macro.
std::string name_of(const testing::TestParamInfo<Op>& test) {
  return std::string(info(test.param).name);
}

std::vector<Op> smooth_elementwise() {
  std::vector<Op> ops = ops_of(OpKind::elementwise);
  std::erase_if(ops, [](Op op) { return info(op).types == TypeRule::Logical; });
  std::erase(ops, Op::stop_gradient);  // its gradient is zero by definition
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, ElementwiseGradient, testing::ValuesIn(smooth_elementwise()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Ops, ReductionGradient, testing::ValuesIn(ops_of(OpKind::reduction)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Ops, ScanGradient, testing::ValuesIn(ops_of(OpKind::scan)), name_of);

// --- Structural ops ------------------------------------------------------------------------------

struct Structural {
  Op op;
  const char* name;
  Arrays inputs;
  Record record;
};

HostArray real(std::vector<std::int64_t> shape, std::uint64_t seed = 1) {
  return sixtyfourths(f64, std::move(shape), seed);
}

const std::vector<Structural>& structural_cases() {
  using T = const Tensors&;
  // Indices out of range, negative, and repeated.
  static const HostArray indices = array(i64, {2, 3}, {-1, 0, 9, 2, 0, -1});
  static const HostArray rows = array(i32, {6}, {2, 0, -1, 2, 4, 1});
  // clang-format off
  static const std::vector<Structural> cases = {
      {Op::cast, "cast", {sixtyfourths(f32, {2, 3})}, [](T x) { return cast(x[0], f64); }},
      {Op::cast, "to_bool", {real({2, 3})}, [](T x) { return cast(cast(x[0], boolean), f64); }},
      {Op::reshape, "reshape", {real({2, 6})}, [](T x) { return reshape(x[0], {3, 4}); }},
      {Op::permute, "permute", {real({2, 3, 4})}, [](T x) { return permute(x[0], {2, 0, 1}); }},
      {Op::broadcast_to, "broadcast", {real({3, 1})}, [](T x) { return broadcast_to(x[0], {2, 3, 4}); }},
      {Op::broadcast_to, "broadcast_number", {real({})}, [](T x) { return broadcast_to(x[0], {2, 3}); }},
      {Op::slice, "slice", {real({3, 5, 2})}, [](T x) { return slice(x[0], 1, 1, 4); }},
      {Op::slice, "slice_of_none", {real({3, 5})}, [](T x) { return slice(x[0], 1, 2, 2); }},
      {Op::slice, "slice_with_step", {real({3, 10, 2})}, [](T x) { return slice(x[0], 1, 1, 8, 3); }},
      {Op::slice, "slice_near_the_end", {real({3, 10, 2})}, [](T x) { return slice(x[0], 1, 1, 10, 4); }},
      {Op::slice, "slice_far_from_the_end", {real({12})}, [](T x) { return slice(x[0], 0, 0, 5, 2); }},
      {Op::flip, "flip", {real({2, 3, 4})}, [](T x) { return flip(x[0], {0, 2}); }},
      {Op::as_strided, "as_strided", {real({12})}, [](T x) { return as_strided(x[0], {3, 4}, {2, 1}, 1); }},
      {Op::as_strided, "as_strided_spread", {real({3, 4})}, [](T x) { return as_strided(x[0], {2, 3, 2}, {5, 0, 3}, 2); }},
      {Op::as_strided, "as_strided_number", {real({3, 4})}, [](T x) { return as_strided(x[0], {}, {}, 7); }},
      {Op::unfold, "unfold_with_gaps", {real({2, 9, 2})}, [](T x) { return unfold(x[0], 1, 2, 3); }},
      {Op::unfold, "unfold_adjacent", {real({2, 9, 2})}, [](T x) { return unfold(x[0], 1, 2, 2); }},
      {Op::unfold, "unfold_dense", {real({7, 2})}, [](T x) { return unfold(x[0], 0, 3, 1); }},
      {Op::unfold, "unfold_overlapping", {real({2, 10})}, [](T x) { return unfold(x[0], 1, 5, 2); }},
      {Op::unfold, "unfold_whole_parts", {real({2, 11})}, [](T x) { return unfold(x[0], 1, 4, 2); }},
      {Op::unfold, "unfold_long", {real({2, 17, 2})}, [](T x) { return unfold(x[0], 1, 11, 1); }},
      {Op::unfold, "unfold_long_with_step", {real({2, 24, 2})}, [](T x) { return unfold(x[0], 1, 19, 2); }},
      {Op::unfold, "unfold_long_front", {real({30, 2})}, [](T x) { return unfold(x[0], 0, 27, 3); }},
      {Op::concat, "concat", {real({2, 3}), real({2, 1}, 2)}, [](T x) { return concat({x[0], x[1], x[0]}, 1); }},
      {Op::take, "take", {real({2, 4, 3}), indices}, [](T x) { return take(x[0], x[1], 1); }},
      {Op::take, "take_rows", {real({4, 3}), indices}, [](T x) { return take(x[0], x[1], 0); }},
      {Op::take, "take_one", {real({4, 3}), array(i32, {}, {-2})}, [](T x) { return take(x[0], x[1], 0); }},
      {Op::take_along_axis, "along", {real({2, 4}), indices}, [](T x) { return take_along_axis(x[0], x[1], 1); }},
      {Op::take_along_axis, "one_along", {real({6, 3}), rows}, [](T x) { return take_along_axis(x[0], reshape(x[1], {6, 1}), 1); }},
      {Op::scatter, "scatter", {real({4, 3}), rows, real({6, 3}, 2)}, [](T x) { return scatter(x[0], x[1], x[2], false); }},
      {Op::scatter, "scatter_sums", {real({4, 3}), rows, real({6, 3}, 2)}, [](T x) { return scatter(x[0], x[1], x[2], true); }},
  };
  // clang-format on
  return cases;
}

class StructuralGradient : public testing::TestWithParam<Structural> {};

TEST_P(StructuralGradient, MatchesCentralDifferences) {
  expect_differences(GetParam().record, GetParam().inputs, 0x1p-10);
}

TEST_P(StructuralGradient, CaseRecordsItsOp) {
  const Loss loss(GetParam().record, GetParam().inputs);
  EXPECT_TRUE(std::ranges::any_of(loss.graph.data().nodes,
                                  [](const Node* node) { return node->op == GetParam().op; }));
}

INSTANTIATE_TEST_SUITE_P(All, StructuralGradient, testing::ValuesIn(structural_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GradientTest, EveryStructuralRowHasACaseOrNoGradient) {
  for (const OpInfo& row : op_table()) {
    if (row.kind != OpKind::structural || row.op == Op::bitcast) continue;
    EXPECT_TRUE(std::ranges::any_of(structural_cases(), [&](const Structural& one) {
      return one.op == row.op;
    })) << row.name;
  }
}

/// The gradient with respect to `x`, which has `count` rows. The extent is a symbol if `as_symbol`.
Reals gradient_of_rows(const std::function<Tensor(Tensor, Extent)>& record, std::int64_t count,
                       bool as_symbol) {
  Graph graph("rows");
  const Extent rows = as_symbol ? graph.extent("rows") : Extent(count);
  const Tensor x = graph.input("x", f64, {rows, 2});
  const Tensor y = record(x, rows);
  const Tensor loss = sum(y * y * y);
  const std::vector<std::int64_t> symbols(as_symbol ? 1 : 0, count);
  return value_of(graph, gradient(loss, {x})[0], {{"x", real({count, 2})}}, symbols).reals;
}

TEST(GradientTest, SymbolsAndConstantsGiveEqualGradients) {
  const std::function<Tensor(Tensor, Extent)> records[] = {
      [](Tensor x, Extent rows) { return slice(x, 0, 1, rows, 3); },
      [](Tensor x, Extent rows) { return slice(x, 0, 0, rows - Extent(2), 2); },
      [](Tensor x, Extent) { return slice(x, 0, 2, 5); },
      [](Tensor x, Extent) { return unfold(x, 0, 3, 2); },
      [](Tensor x, Extent) { return unfold(x, 0, 4, 4); },
      [](Tensor x, Extent) { return unfold(x, 0, 2, 5); },
      [](Tensor x, Extent) { return unfold(x, 0, 11, 1); },
      [](Tensor x, Extent rows) {
        return as_strided(x, {rows, 3}, {2, 0}, 1);
      },
      [](Tensor x, Extent) {
        return concat({x, x * 2.0}, 0);
      },
      [](Tensor x, Extent rows) {
        return x * reshape(x, {rows, 1, 2});
      },
  };
  for (const auto& record : records)
    for (const std::int64_t count : {12, 13, 14, 17})
      EXPECT_EQ(gradient_of_rows(record, count, true), gradient_of_rows(record, count, false))
          << count << " rows";
}

// --- Results and errors of calls -----------------------------------------------------------------

TEST(GradientTest, SumsOverAllUsesOfAValue) {
  const auto record = [](Tensor x) { return gradient(sum(x * x + sin(x)), {x})[0]; };
  const Expected value = value_of(array(f64, {0, 2}), record);
  EXPECT_DOUBLE_EQ(value.reals[0], 1.0);
  EXPECT_DOUBLE_EQ(value.reals[1], 4 + std::cos(2.0));
}

TEST(GradientTest, MultipliesByTheCotangent) {
  const auto record = [](Tensor x, Tensor g) { return gradient(exp(x), {x}, g)[0]; };
  EXPECT_THAT(value_of(array(f64, {0, 0}), array(f64, {3, -2}), record).reals, ElementsAre(3, -2));
}

TEST(GradientTest, AcceptsAnyValuesAsInputs) {
  Graph graph("g");
  const Tensor x = graph.input("x", f64, {2});
  const Tensor h = exp(x);
  const Tensor y = sum(h * h);
  const std::vector<Tensor> results = gradient(y, {h, x, y, h});
  const HostArrays inputs = {{"x", array(f64, {0, 0})}};
  EXPECT_THAT(value_of(graph, results[0], inputs).reals, ElementsAre(2, 2));
  EXPECT_THAT(value_of(graph, results[1], inputs).reals, ElementsAre(2, 2));
  EXPECT_THAT(value_of(graph, results[2], inputs).reals, ElementsAre(1));
  EXPECT_EQ(results[3].node(), results[0].node());
  EXPECT_TRUE(gradient(y, {}).empty());
}

TEST(GradientTest, IsZeroForUnrelatedInputs) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {2, 3});
  const Tensor other = graph.input("other", bf16, {4});
  const Tensor y = sum(x);
  const Tensor later = graph.input("later", f64, {2});
  const std::vector<Tensor> results = gradient(y, {other, later});
  EXPECT_EQ(type_text(*results[0].node()), "bf16[4]");
  EXPECT_THAT(value_of(graph, results[0], {}).reals, Each(0.0));
  EXPECT_EQ(type_text(*results[1].node()), "f64[2]");
}

TEST(GradientTest, DoesNotAddZeros) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {3});
  const Tensor y = x * floor(x);
  const Tensor g = graph.input("g", f32, {3});
  EXPECT_EQ(gradient(y, {x}, g)[0].node(), (g * floor(x)).node());
  EXPECT_EQ(gradient(floor(x), {x}, g)[0].node()->op, Op::full);
}

TEST(GradientTest, TreatsStoppedValuesAsConstants) {
  const auto record = [](Tensor x) { return gradient(sum(x * stop_gradient(x * x)), {x})[0]; };
  EXPECT_THAT(value_of(array(f64, {2, -3}), record).reals, ElementsAre(4, 9));
  const auto twice = [](Tensor x) {
    const Tensor first = gradient(sum(x * x * stop_gradient(x)), {x})[0];  // 2x · x
    return gradient(sum(first), {x})[0];
  };
  EXPECT_THAT(value_of(array(f64, {2, -3}), twice).reals, ElementsAre(4, -6));
}

TEST(GradientTest, RecordsNothingForStoppedValues) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {3});
  const Tensor g = graph.input("g", f32, {3});
  const Tensor hidden = exp(x);
  const Tensor stopped = stop_gradient(hidden);
  const Tensor y = x * stopped;
  const std::size_t before = graph.data().nodes.size();
  EXPECT_EQ(gradient(y, {x}, g)[0].node(), (g * stopped).node());
  // The stopped value may itself be an input of gradient().
  const std::vector<Tensor> both = gradient(y, {x, stopped}, g);
  EXPECT_EQ(both[0].node(), (g * stopped).node());
  EXPECT_EQ(both[1].node(), (g * x).node());
  EXPECT_EQ(gradient(stopped, {x}, g)[0].node()->op, Op::full);
  for (std::size_t id = before; id < graph.data().nodes.size(); ++id)
    for (const Node* operand : graph.data().nodes[id]->operands) EXPECT_NE(operand, hidden.node());
}

TEST(GradientTest, HasTheDTypeOfTheInput) {
  Graph graph("g");
  const Tensor x = graph.input("x", bf16, {2, 3});
  const Tensor w = graph.input("w", f16, {3});
  const Tensor y = mean(sigmoid(x * 0.1) * w);
  ASSERT_EQ(y.dtype(), f32);
  const std::vector<Tensor> results = gradient(y, {x, w});
  EXPECT_EQ(type_text(*results[0].node()), "bf16[2, 3]");
  EXPECT_EQ(type_text(*results[1].node()), "f16[3]");
}

/// f16 does not have 2049, and bf16 does not have 257.
TEST(GradientTest, CountsElementsOfHalvesInTheAccumulatorDType) {
  const std::vector<double> ones(3000, 1);
  const auto of_mean = [](Tensor x) { return gradient(mean(x), {x})[0]; };
  EXPECT_NEAR(value_of(array(f16, {3000}, ones), of_mean).reals[0], 1.0 / 3000, 1e-6);
  const auto of_max = [](Tensor x) { return gradient(max(x), {x})[0]; };
  EXPECT_NEAR(value_of(array(f16, {3000}, ones), of_max).reals[0], 1.0 / 3000, 1e-6);
  std::vector<double> far(3000, -1);
  far[7] = 1;
  const auto of_var = [](Tensor x) { return gradient(var(x), {x})[0]; };
  EXPECT_NEAR(value_of(array(f16, {3000}, far), of_var).reals[7], 2 * (2 - 2.0 / 3000) / 3000,
              1e-6);
}

/// 6 / 0.1 rounds to 60. But the f64 value 0.1 is slightly more than a tenth and fits only 59
/// times.
TEST(GradientTest, RemainderUsesTheExactQuotient) {
  const auto record = [](Tensor b) { return gradient(sum(remainder(6.0, b)), {b})[0]; };
  EXPECT_THAT(value_of(array(f64, {0.1, 4}), record).reals, ElementsAre(-59, -1));
}

TEST(GradientTest, GradientOfAGradientIsTheSecondDerivative) {
  const auto record = [](Tensor x) {
    const Tensor windows = unfold(x * x * x, 0, 2, 1);
    const Tensor first = gradient(sum(windows), {x})[0];
    return gradient(sum(first), {x})[0];
  };
  EXPECT_THAT(value_of(array(f64, {1, 2, 3}), record).reals, ElementsAre(6, 24, 18));
}

TEST(GradientTest, RecordedNodesHaveTheLocationOfTheCall) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {4, 8});
  const Tensor y = sum(softmax(unfold(x, 1, 3, 2)));
  const std::size_t first = graph.data().nodes.size();
  gradient(y, {x}, {}, "model.cpp", 7);
  ASSERT_GT(graph.data().nodes.size(), first);
  for (std::size_t id = first; id < graph.data().nodes.size(); ++id)
    EXPECT_EQ(to_string(graph.data().location_at(id)), "model.cpp:7");
}

TEST(GradientTest, IgnoresOpsWithoutGradientOnOtherPaths) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {3});
  const Tensor mask = cast(bitcast(graph.input("bits", i32, {3}), f32), f32);
  const Tensor whole = cast(cast(x, i32), f32);
  EXPECT_EQ(gradient(sum(x * mask * whole), {x}).size(), 1U);
}

TEST(GradientTest, RejectsInvalidArguments) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {3, 4});
  const Tensor i = graph.input("ids", i64, {3});
  const auto error = [](Tensor output, std::vector<Tensor> inputs,
                        std::optional<Tensor> cotangent = {}) {
    return error_of([&] { gradient(output, inputs, cotangent, "model.cpp", 7); });
  };
  EXPECT_EQ(error(x, {x}),
            "gradient: output is f32[3, 4], not a scalar; pass a cotangent of that shape "
            "(recorded at model.cpp:7)");
  EXPECT_EQ(error(x, {x}, sum(x, {0})),
            "gradient: output is f32[3, 4] and the cotangent f32[4]; pass one with the output's "
            "dtype and shape (recorded at model.cpp:7)");
  EXPECT_EQ(error(sum(i), {x}),
            "gradient: output is i64[]; only floating values have a gradient, cast "
            "it first (recorded at model.cpp:7)");
  EXPECT_EQ(error(sum(x), {x, i}),
            "gradient: the input ids is i64[3]; only floating values have a gradient, leave it out "
            "(recorded at model.cpp:7)");
  EXPECT_EQ(error(sum(x), {x, i + 1}),
            "gradient: input 1 is i64[3]; only floating values have a gradient, leave it out "
            "(recorded at model.cpp:7)");
  EXPECT_EQ(error(sum(x), {x, {}}),
            "the Tensor is empty; assign the result of an op or an input to it first (recorded at "
            "model.cpp:7)");
}

TEST(GradientTest, NamesTheOpWithoutGradient) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {3});
  const Tensor bits = bitcast(Operand(x, "src/bits.cpp", 3), i32);
  const Tensor back = bitcast(Operand(bits + 1, "src/bits.cpp", 4), f32);
  const Tensor count = cast(Operand(bits, "src/bits.cpp", 5), f32);
  const auto error = [&](Tensor y) {
    return error_of([&] { gradient(sum(y), {x}, {}, "model.cpp", 7); });
  };
  EXPECT_EQ(error(back),
            "gradient: bitcast at bits.cpp:4 has no gradient; keep it off the paths from the "
            "inputs to the output (recorded at model.cpp:7)");
  EXPECT_EQ(error(count),
            "gradient: cast at bits.cpp:5 has no gradient; keep it off the paths from the inputs "
            "to the output (recorded at model.cpp:7)");
}

}  // namespace
}  // namespace sinter::gradient_test
