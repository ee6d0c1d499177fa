// A new op is one row of the op table. add_row.cmake adds `gudermannian` to a copy of the table.
// With that copy, the op works in C++, in text, in the oracle and on the device.
#include "ir/autodiff/op_vjp.h"
#include "ir/graph/node.h"
#include "ir/ops/op.h"
#include "ir/oracle/interpret.h"
#include "sinter/ops.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/oracle_support.h"
#include "tests/support/run/run.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace sinter::test::new_op_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::vector<double> kArguments = {-4, -1.5, -0.25, 0, 1e-9, 0.5, 2, 4};

std::vector<std::string> lines_of(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(NewOpTest, CopyOfTheTableHasOneMoreRow) {
  const std::vector<std::string> real = lines_of(SINTER_OP_TABLE);
  std::vector<std::string> copy = lines_of(SINTER_OP_TABLE_WITH_NEW_ROW);
  ASSERT_EQ(copy.size(), real.size() + 1);
  const auto row = std::ranges::mismatch(copy, real).in1;
  ASSERT_THAT(*row, HasSubstr("gudermannian"));
  copy.erase(row);
  EXPECT_EQ(copy, real);
}

TEST(NewOpTest, NewOpIsLastInTheTable) {
  const OpInfo* row = find_op("gudermannian");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->op, Op::gudermannian);
  EXPECT_EQ(row, &info(Op::gudermannian));
  EXPECT_EQ(row, &op_table().back());
  EXPECT_EQ(row->arity, 1);
  EXPECT_EQ(row->kind, OpKind::elementwise);
}

TEST(NewOpTest, HasATensorFunction) {
  Graph graph("g");
  const Tensor y = gudermannian(graph.input("x", bf16, {3, 4}));
  EXPECT_EQ(y.node()->op, Op::gudermannian);
  EXPECT_EQ(y.dtype(), bf16);
  EXPECT_EQ(to_string(y.shape()), "[3, 4]");
  EXPECT_EQ(gudermannian(graph.input("count", i32, {5})).dtype(), f32);
}

TEST(NewOpTest, RejectsDTypesOutsideItsTypingRule) {
  Graph graph("g");
  const Tensor stored = graph.input("stored", c64, {4});
  EXPECT_THAT(error_of([&] { gudermannian(stored); }),
              StartsWith("gudermannian: takes floating operands, not c64; cast them "
                         "(recorded at new_op_test.cpp:"));
}

TEST(NewOpTest, ParsesAndPrints) {
  const std::string text =
      "graph g(x: f32[rows, 4]) {\n  y = gudermannian x\n  z = mul y, 2.0\n  return z\n}\n";
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_THAT(error_of([] { parse("graph g(x: f32[4]) {\n  y = gudermanian x\n  return y\n}\n"); }),
              HasSubstr("gudermannian"));
}

TEST(NewOpTest, OracleComputesIt) {
  const Expected y = value_of(array(f64, kArguments), [](Tensor x) { return gudermannian(x); });
  for (std::size_t i = 0; i < kArguments.size(); ++i)
    EXPECT_NEAR(y.reals[i], 2 * std::atan(std::tanh(kArguments[i] / 2)), 1e-15) << kArguments[i];
}

TEST(NewOpTest, VjpMatchesCentralDifference) {
  constexpr double kStep = 0x1p-17;
  const std::vector<double> g = {1, -2, 3, 0.5, -1, 2, 0.25, -4};
  const auto shifted = [](double by) {
    std::vector<double> values = kArguments;
    for (double& value : values) value += by;
    return value_of(array(f64, values), [](Tensor x) { return gudermannian(x); });
  };
  const Expected above = shifted(kStep);
  const Expected below = shifted(-kStep);
  const Expected cotangent =
      value_of(array(f64, kArguments), array(f64, g), [](Tensor x, Tensor given) {
        return vjp_of(Op::gudermannian)({&x, 1}, gudermannian(x), given).at(0);
      });
  for (std::size_t i = 0; i < kArguments.size(); ++i) {
    const double slope = (above.reals[i] - below.reals[i]) / (2 * kStep);
    EXPECT_NEAR(cotangent.reals[i], g[i] * slope, 1e-8) << kArguments[i];
  }
}

class NewOpRunTest : public testing::TestWithParam<DType> {};

/// Compares fused, unfused, replayed and candidate runs with the oracle.
TEST_P(NewOpRunTest, DeviceMatchesTheOracle) {
  const RunResult run = run_and_check(fmt::format(R"(
graph curve(x: {0}[rows, 96] {{range = [-4, 4]}}, weight: {0}[96]) {{
  scaled = mul x, weight
  angle = gudermannian scaled
  turned = sub 1.5, angle
  total = sum turned {{axes = [1]}}
  return angle, total
}}
)",
                                                  name(GetParam())),
                                      {{"rows", 37}});
  ASSERT_EQ(run.report.kernels.size(), 1U);
  EXPECT_THAT(run.report.kernels[0].source, HasSubstr("atanf(sinhf(scaled))"));
}

INSTANTIATE_TEST_SUITE_P(DTypes, NewOpRunTest, testing::Values(f32, bf16),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace sinter::test::new_op_test
