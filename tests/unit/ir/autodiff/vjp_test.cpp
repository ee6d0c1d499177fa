// The vjp column of each row of the op table, compared with central differences of the op's values.
#include "ir/autodiff/op_vjp.h"
#include "ir/ops/op.h"
#include "ir/oracle/interpret.h"
#include "ir/record/record.h"
#include "tests/support/graphs/oracle_support.h"

#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace sinter::vjp_test {
namespace {

constexpr std::int64_t kSamples = 200;
using Values = std::vector<double>;

/// A random operand that the inputs column allows, away from points without a derivative.
double sample(Inputs inputs, std::mt19937_64& random) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const double sign = between(-1, 1) < 0 ? -1 : 1;
  switch (inputs) {
    case Inputs::Any: return between(-2, 2);
    case Inputs::Small: return between(-4, 4);
    case Inputs::Unit: return between(-0.9, 0.9);
    case Inputs::Positive: return between(0.5, 3);
    case Inputs::AboveOne: return between(1.25, 4);
    case Inputs::NonZero: return sign * between(0.5, 3);
    case Inputs::Fraction: return std::floor(between(-4, 4)) + between(0.1, 0.9);
    case Inputs::Distinct: return between(-2, 2);
  }
  return 0;
}

/// Operand 0 of `where` and all operands of logical ops are bool and have no derivative.
bool is_bool(const OpInfo& row, std::size_t operand) {
  return row.types == TypeRule::Logical || (row.types == TypeRule::Where && operand == 0);
}

std::vector<Values> samples(const OpInfo& row) {
  std::mt19937_64 random(7);
  std::vector<Values> operands(static_cast<std::size_t>(row.arity), Values(kSamples));
  for (std::size_t k = 0; k < kSamples; ++k) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      operands[i][k] = is_bool(row, i) ? random() % 2 : sample(row.inputs, random);
    if (row.inputs == Inputs::Distinct)
      operands[1][k] = operands[0][k] + (random() % 2 ? 1 : -1) * (0.1 + std::fabs(operands[1][k]));
  }
  return operands;
}

/// The op and its cotangents, recorded over f64 inputs.
struct Recorded {
  Graph graph{"vjp"};
  Tensor y;
  std::vector<Tensor> cotangents;
  HostArrays inputs;
};

Recorded record(const OpInfo& row, const std::vector<Values>& values, const Values& g) {
  Recorded result;
  std::vector<Tensor> tensors;
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    const DType dtype = is_bool(row, i) ? boolean : f64;
    tensors.push_back(result.graph.input(name, dtype, {kSamples}));
    operands.push_back(tensors.back());
    result.inputs.emplace(name, array(dtype, values[i]));
  }
  const Tensor cotangent = result.graph.input("g", f64, {kSamples});
  result.inputs.emplace("g", array(f64, g));
  result.y = record_elementwise(row.op, operands);
  result.cotangents = vjp_of(row.op)(tensors, result.y, cotangent);
  return result;
}

Values values_of(const OpInfo& row, const std::vector<Values>& operands) {
  Recorded recorded = record(row, operands, Values(kSamples, 1.0));
  const Expected y = value_of(recorded.graph, recorded.y, recorded.inputs);
  Values result;
  for (std::int64_t i = 0; i < y.size(); ++i) result.push_back(y.real(i));
  return result;
}

class VjpTest : public testing::TestWithParam<Op> {};

TEST_P(VjpTest, MatchesCentralDifferencesTimesTheCotangent) {
  const OpInfo& row = info(GetParam());
  const std::vector<Values> operands = samples(row);
  std::mt19937_64 random(11);
  Values g(kSamples);
  for (double& value : g) value = sample(Inputs::NonZero, random);
  Recorded recorded = record(row, operands, g);
  ASSERT_EQ(recorded.cotangents.size(), operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Expected cotangent = value_of(recorded.graph, recorded.cotangents[i], recorded.inputs);
    ASSERT_EQ(cotangent.size(), kSamples);
    if (is_bool(row, i)) {
      for (const double value : cotangent.reals) EXPECT_EQ(value, 0);
      continue;
    }
    constexpr double kStep = 0x1p-17;
    std::vector<Values> above = operands;
    std::vector<Values> below = operands;
    for (double& value : above[i]) value += kStep;
    for (double& value : below[i]) value -= kStep;
    const Values high = values_of(row, above);
    const Values low = values_of(row, below);
    for (std::size_t k = 0; k < kSamples; ++k) {
      const double slope = g[k] * (high[k] - low[k]) / (2 * kStep);
      // The step squared times a third derivative below 1000, and the f64 rounding error divided by
      // the step.
      const double tolerance = 1e-7 * (1 + std::fabs(slope));
      EXPECT_NEAR(cotangent.reals[k], slope, tolerance)
          << row.name << ", operand " << i << ", a = " << operands[0][k];
    }
  }
}

/// The sum of a cotangent times a reduction of x[3, 4, 5]. It reduces axes 0 and 2, or axis 1 for
/// argmax and argmin.
struct RecordedReduction {
  Graph graph{"vjp"};
  Tensor loss;
  Tensor cotangent;  ///< of x
  HostArrays inputs;
};

RecordedReduction record_reduction_of(Op op, const Values& x, Keep kept) {
  RecordedReduction result;
  Graph& graph = result.graph;
  const Tensor operand = graph.input("x", f64, {3, 4, 5});
  result.inputs.emplace("x", array(f64, {3, 4, 5}, x));
  std::vector<std::int64_t> axes = {0, 2};
  if (gives_index(op)) axes = {1};
  ReductionOptions options{.keep = kept};
  if (op == Op::var) options.correction = 1;
  const Tensor y = record_reduction(op, operand, axes, options);
  // A different cotangent for each element.
  const Tensor count = cast(iota(graph, product(y.shape()), 1, 2), f64);
  const Tensor g = reshape(count, y.shape()) * 0.25;
  result.loss = sum(cast(y, f64) * g);
  result.cotangent = vjp_of(op)(std::array{operand}, y, g)[0];
  return result;
}

double loss_of(Op op, const Values& x, Keep kept) {
  RecordedReduction recorded = record_reduction_of(op, x, kept);
  return value_of(recorded.graph, recorded.loss, recorded.inputs).real(0);
}

class ReductionVjpTest : public testing::TestWithParam<Op> {};

TEST_P(ReductionVjpTest, MatchesCentralDifferences) {
  const Op op = GetParam();
  std::mt19937_64 random(5);
  Values x(60);
  for (double& value : x) value = sample(Inputs::Any, random);
  for (const Keep kept : {Keep::no, Keep::yes}) {
    RecordedReduction recorded = record_reduction_of(op, x, kept);
    const Expected cotangent = value_of(recorded.graph, recorded.cotangent, recorded.inputs);
    ASSERT_EQ(cotangent.shape, (std::vector<std::int64_t>{3, 4, 5}));
    constexpr double kStep = 0x1p-17;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Values above = x;
      Values below = x;
      above[i] += kStep;
      below[i] -= kStep;
      const double slope = (loss_of(op, above, kept) - loss_of(op, below, kept)) / (2 * kStep);
      EXPECT_NEAR(cotangent.reals[i], slope, 1e-6 * (1 + std::fabs(slope))) << "element " << i;
    }
  }
}

TEST(ReductionVjp, EqualLargestElementsShareTheCotangent) {
  Values x(60, -1.0);
  x[0] = x[3] = x[44] = 2.0;  // all three in row 0 of axis 1
  RecordedReduction recorded = record_reduction_of(Op::max, x, Keep::no);
  const Expected cotangent = value_of(recorded.graph, recorded.cotangent, recorded.inputs);
  for (const std::size_t i : {0, 3, 44}) EXPECT_DOUBLE_EQ(cotangent.reals[i], 0.25 / 3);
  EXPECT_EQ(cotangent.reals[1], 0);
}

/// The sum of a cotangent times a scan of x[3, 7] along axis 1. The cotangent of each element
/// differs.
struct RecordedScan {
  Graph graph{"vjp"};
  Tensor loss;
  Tensor cotangent;  ///< of x
  HostArrays inputs;
};

RecordedScan record_scan_of(Op op, const Values& x) {
  RecordedScan result;
  const Tensor operand = result.graph.input("x", f64, {3, 7});
  result.inputs.emplace("x", array(f64, {3, 7}, x));
  const Tensor y = record_scan(op, operand, 1, {});
  const Tensor count = cast(iota(result.graph, 21, 1, 2), f64);
  const Tensor g = reshape(count, y.shape()) * 0.25;
  result.loss = sum(y * g);
  result.cotangent = vjp_of(op)(std::array{operand}, y, g)[0];
  return result;
}

class ScanVjpTest : public testing::TestWithParam<Op> {};

TEST_P(ScanVjpTest, MatchesCentralDifferences) {
  std::mt19937_64 random(3);
  Values x(21);
  for (double& value : x) value = sample(Inputs::NonZero, random);
  x[3] = x[8] = x[10] = 0;  // one zero in the first line, two in the second
  RecordedScan recorded = record_scan_of(GetParam(), x);
  const Expected cotangent = value_of(recorded.graph, recorded.cotangent, recorded.inputs);
  const auto loss_of_scan = [](Op op, const Values& values) {
    RecordedScan again = record_scan_of(op, values);
    return value_of(again.graph, again.loss, again.inputs).real(0);
  };
  constexpr double kStep = 0x1p-17;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Values above = x;
    Values below = x;
    above[i] += kStep;
    below[i] -= kStep;
    const double slope =
        (loss_of_scan(GetParam(), above) - loss_of_scan(GetParam(), below)) / (2 * kStep);
    EXPECT_NEAR(cotangent.reals[i], slope, 1e-6 * (1 + std::fabs(slope))) << "element " << i;
  }
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

/// All elementwise ops except stop_gradient, whose cotangent is not its derivative.
std::vector<Op> differentiable_elementwise() {
  std::vector<Op> ops = ops_of(OpKind::elementwise);
  std::erase(ops, Op::stop_gradient);
  return ops;
}

TEST(Vjp, StopGradientHasAZeroCotangent) {
  const OpInfo& row = info(Op::stop_gradient);
  const std::vector<Values> operands = samples(row);
  EXPECT_EQ(values_of(row, operands), operands[0]);
  Recorded recorded = record(row, operands, Values(kSamples, 1.0));
  ASSERT_EQ(recorded.cotangents.size(), 1U);
  const Expected cotangent = value_of(recorded.graph, recorded.cotangents[0], recorded.inputs);
  EXPECT_EQ(cotangent.reals, Values(kSamples, 0.0));
  EXPECT_EQ(differentiable_elementwise().size() + 1, ops_of(OpKind::elementwise).size());
}

/// Both cotangents of an op for the cotangent 1.
std::vector<Values> cotangents_of(Op op, const Values& a, const Values& b) {
  Graph graph("vjp");
  const auto count = static_cast<std::int64_t>(a.size());
  const std::vector<Tensor> operands = {graph.input("a", f64, {count}),
                                        graph.input("b", f64, {count})};
  const Tensor y = record_elementwise(op, std::vector<Operand>{operands[0], operands[1]});
  const Tensor g = graph.input("g", f64, {count});
  const HostArrays inputs = {
      {"a", array(f64, a)}, {"b", array(f64, b)}, {"g", array(f64, Values(a.size(), 1.0))}};
  std::vector<Values> result;
  for (const Tensor cotangent : vjp_of(op)(operands, y, g))
    result.push_back(value_of(graph, cotangent, inputs).reals);
  return result;
}

TEST(Vjp, SecondOfTwoEqualOperandsGetsTheCotangent) {
  for (const Op op : {Op::maximum, Op::minimum, Op::fmax, Op::fmin}) {
    SCOPED_TRACE(info(op).name);
    const Values a = {0, 2.5, -0.0, 0, kInf, -kInf};
    const Values b = {0, 2.5, 0, -0.0, kInf, -kInf};
    const std::vector<Values> cotangents = cotangents_of(op, a, b);
    EXPECT_EQ(cotangents[0], Values(6, 0.0));
    EXPECT_EQ(cotangents[1], Values(6, 1.0));
  }
}

TEST(Vjp, ExactlyOneOperandGetsTheCotangentWithNan) {
  const Values a = {kNaN, 1, kNaN};
  const Values b = {1, kNaN, kNaN};
  for (const Op op : {Op::maximum, Op::minimum}) {
    const std::vector<Values> cotangents = cotangents_of(op, a, b);
    EXPECT_EQ(cotangents[0], (Values{0, 0, 0})) << info(op).name;
    EXPECT_EQ(cotangents[1], (Values{1, 1, 1})) << info(op).name;
  }
  // fmax and fmin return the number, so that operand gets the cotangent.
  for (const Op op : {Op::fmax, Op::fmin}) {
    const std::vector<Values> cotangents = cotangents_of(op, a, b);
    EXPECT_EQ(cotangents[0], (Values{0, 1, 1})) << info(op).name;
    EXPECT_EQ(cotangents[1], (Values{1, 0, 0})) << info(op).name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, VjpTest, testing::ValuesIn(differentiable_elementwise()), name_of);
INSTANTIATE_TEST_SUITE_P(Ops, ScanVjpTest, testing::ValuesIn(ops_of(OpKind::scan)), name_of);
INSTANTIATE_TEST_SUITE_P(Ops, ReductionVjpTest, testing::ValuesIn(ops_of(OpKind::reduction)),
                         name_of);

}  // namespace
}  // namespace sinter::vjp_test
