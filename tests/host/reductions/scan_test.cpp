// Scans that tests/golden/run does not cover: symbolic sizes, and special values compared with the
// oracle.
#include "ir/oracle/check.h"
#include "ir/oracle/interpret.h"
#include "tests/support/graphs/oracle_support.h"
#include "tests/support/run/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

namespace sinter::test::scan_test {
namespace {

TEST(Scans, SymbolicSizesOfEveryClass) {
  for (const std::int64_t size : {1, 3, 4, 5, 64, 511, 512, 513, 1024, 1025, 5000}) {
    SCOPED_TRACE(size);
    run_and_check(R"(
graph sizes(x: f32[rows, n]) {
  a = cumsum x {axis = 1}
  b = mul a, x
  c = cummax b {axis = 1}
  return b, c
})",
                  {{"rows", 5}, {"n", size}}, {.candidates = size < 600});
  }
}

/// If there are few rows, their tiles are distributed over blocks with decoupled look-back. Some
/// sizes have more tiles than a block has threads.
TEST(Scans, LongRows) {
  for (const std::int64_t size : {1028, 4099, 300'000}) {
    SCOPED_TRACE(size);
    run_and_check(R"(
graph long_rows(x: f32[rows, n] {range = [-1, 1]}, b: f32[n]) {
  y = mul x, 0.5
  a = cumsum y {axis = 1}
  c = mul a, x
  z = add c, b
  return z
})",
                  {{"rows", 2}, {"n", size}}, {.candidates = size < 10'000});
  }
}

TEST(Scans, LongRowsInEveryDtype) {
  for (const std::string_view dtype : {"f64", "bf16", "f16", "i32", "u8", "i64"})
    run_and_check(fmt::format(R"(
graph long_rows_of_{0}(x: {0}[3, 2500] {{range = [0, 3]}}) {{
  a = cumsum x {{axis = 1}}
  b = cummax x {{axis = 1}}
  c = cummin x {{axis = 1, reverse = true}}
  d = cumprod x {{axis = 1, exclusive = true}}
  return a, b, c, d
}})",
                              dtype),
                  {}, {.candidates = false});
}

/// The operand and the results read the same elements through an index, which is loaded with them.
TEST(Scans, ElementsReadThroughIndex) {
  for (const std::int64_t n : {5, 64, 700})
    run_and_check(R"(
graph through_index(x: f16[rows, m] {range = [-1, 1]}, at: i64[n] {range = [0, 4]}) {
  y = take x, at {axis = 1}
  a = cumprod y {axis = 1}
  b = abs y
  z = cast at {to = f32}
  c = cumsum y {axis = 1, reverse = true}
  d = mul c, z
  return a, b, d
})",
                  {{"rows", 16}, {"m", 5}, {"n", n}});
}

TEST(Scans, LongColumns) {
  for (const std::int64_t columns : {1, 3, 16, 21})
    run_and_check(R"(
graph long_columns(x: f32[rows, columns] {range = [-1, 1]}, m: i32[rows, columns] {range = [0, 9]}) {
  a = cumsum x {axis = 0}
  b = add a, x
  c = cumsum m {axis = 0, reverse = true}
  return b, c
})",
                  {{"rows", 40'000}, {"columns", columns}},
                  {.candidates = columns == 3, .replay = columns == 3});
}

TEST(Scans, TogetherWithOtherKernels) {
  for (const std::int64_t n : {0, 1, 1500})
    run_and_check(R"(
graph beside(x: f64[1, n] {range = [0.9, 1.1]}, m: f64[1, 1]) {
  p = cumprod x {axis = 1}
  c = concat m, p {axis = 1}
  s = slice c {axis = 1, begin = 0, end = n, step = 1}
  update x, s
  return m
})",
                  {{"n", n}}, {.candidates = false});
}

TEST(Scans, EmptyArrays) {
  run_and_check(R"(
graph nothing(x: f32[4, 0], y: i32[0, 7]) {
  a = cumsum x {axis = 1, exclusive = true}
  b = cumprod y {axis = 1}
  c = cummax y {axis = 0, reverse = true}
  return a, b, c
})");
}

TEST(Scans, RowsThatAreEmptyAtRunTime) {
  for (const std::int64_t n : {0, 3})
    run_and_check(R"(
graph empty_rows(x: f32[2, n], y: f32[2, 1]) {
  a = cummax x {axis = 1}
  b = ge a, y
  return b
})",
                  {{"n", n}});
}

TEST(Scans, ExclusiveWithSymbols) {
  for (const std::int64_t n : {0, 1, 2, 7})
    run_and_check(R"(
graph exclusive(x: f32[2, n], y: i32[n, 3]) {
  a = cumsum x {axis = 1, exclusive = true}
  b = mul a, x
  c = cummax y {axis = 0, exclusive = true, reverse = true}
  return b, c
})",
                  {{"n", n}});
}

TEST(Scans, SpecialValues) {
  Graph graph("special");
  const Tensor x = graph.input("x", f32, {4, 6});
  for (const bool reverse : {false, true}) {
    const std::string suffix = reverse ? "_reverse" : "";
    graph.output("sum" + suffix, cumsum(x, 1, {.reverse = reverse}));
    graph.output("product" + suffix, cumprod(x, 1, {.reverse = reverse}));
    graph.output("largest" + suffix, cummax(x, 1, {.reverse = reverse}));
    graph.output("smallest" + suffix, cummin(x, 1, {.reverse = reverse}));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {
      1, kNan, 3, kInfinity, -1,   2, kInfinity, 1,    -1e38, 3e38,  -kInfinity, 0,
      0, -0.0, 5, -0.0,      kNan, 1, 3e38,      3e38, -3e38, 1e-40, 1e-30,      2};
  const HostArrays inputs = {{"x", array(f32, {4, 6}, values)}};
  const RunResult run = run_graph(graph, host_device(), inputs, {});
  const Interpretation expected = interpret(graph, inputs, {});
  for (const auto& [name, value] : expected.outputs) {
    const CheckResult result = check(value, run.results.at(name));
    EXPECT_TRUE(result.passes()) << describe(name, result);
    EXPECT_LT(result.undecided, 8) << name;
  }
}

}  // namespace
}  // namespace sinter::test::scan_test
