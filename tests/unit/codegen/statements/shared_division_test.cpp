// Divisions of resident rows: some are inline, and others call a function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "tests/support/graphs/planned.h"

namespace sinter::shared_division_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string text_of(std::string_view graph, const PlanOptions& options = {}) {
  const Program program = plan(parse(graph), *find_target("h200"), {}, options);
  EXPECT_EQ(program.kernels.size(), 1U);
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.kind, KernelKind::row_reduce);
  EXPECT_TRUE(kernel.schedule.resident);
  return emit(program, kernel, kernel.schedule, kernel.name).text;
}

std::string softmax(int columns) {
  return fmt::format(
      "graph rows(x: f32[8192, {}]) {{\n  y = softmax x {{axis = 1}}\n  return y\n}}", columns);
}

TEST(Quotients, CallAFunctionForManyVectors) {
  const std::string text = text_of(softmax(16384));
  EXPECT_THAT(text, HasSubstr("const Vector<float, 4> y = quotients(exp_3[tile], sum_4);\n"
                              "    store<4>(y_out, row * 16384 + column, y);\n"))
      << "stored as it is";
  EXPECT_THAT(text, Not(HasSubstr(" / sum_4")));
}

TEST(Quotients, AreInlineForFewVectors) {
  const std::string text = text_of(softmax(1024));
  EXPECT_THAT(text, HasSubstr("y[k] = exp_3[tile][k] / sum_4;"));
  EXPECT_THAT(text, Not(HasSubstr("quotients")));
}

TEST(Quotients, AreConvertedElementByElement) {
  const std::string text = text_of(R"(
graph rows(x: f32[8192, 16384]) {
  s = softmax x {axis = 1}
  t = mul s, 2.0
  y = cast t {to = bf16}
  return y
})");
  EXPECT_THAT(text, ContainsRegex("const Vector<float, 4> s = quotients\\(exp_[0-9]\\[tile\\], "));
  EXPECT_THAT(text, HasSubstr("const float t = s[k] * 2.0f;"));
}

/// A literal divisor, a divisor that varies along the row, and a vector computed in this pass.
TEST(Quotients, AreInlineForOtherOperands) {
  const std::string text = text_of(R"(
graph rows(x: f32[8192, 16384], w: f32[16384]) {
  m = max x {axes = [1], keep = true}
  a = div x, 3.0
  b = div x, w
  d = sub x, m
  c = div d, m
  return a, b, c
})");
  EXPECT_THAT(text, HasSubstr(" / 3.0f"));
  EXPECT_THAT(text, ContainsRegex(" / w\\[k\\]"));
  EXPECT_THAT(text, ContainsRegex(" / m;"));
  EXPECT_THAT(text, Not(HasSubstr("quotients"))) << text;
}

TEST(Quotients, UseTheHardwareWithFastMath) {
  const std::string text = text_of(softmax(16384), {.numerics = {.math = Math::fast}});
  EXPECT_THAT(text, HasSubstr("fast_divide(exp_3[tile][k], sum_4)"));
  EXPECT_THAT(text, Not(HasSubstr("quotients")));
}

}  // namespace
}  // namespace sinter::shared_division_test
