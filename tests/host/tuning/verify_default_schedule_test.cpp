// Verification of default schedules by the oracle during tuning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "sinter/sinter.h"
#include "sinter/text.h"

namespace sinter::verify_default_schedule_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// The tuning log of compiling `graph` for 500 rows.
std::vector<std::string> tuning_log(const Graph& graph, int debug, bool has_rows = true) {
  std::vector<std::string> lines;
  Options options;
  options.tune = Tune::quick;
  options.debug = debug;
  options.cache.mode = CacheMode::off;
  options.log = [&](std::string_view line) {
    if (line.starts_with("tune: kernel")) lines.emplace_back(line);
  };
  const Executable executable = compile(graph, host_device(), options);
  if (has_rows)
    executable.prepare({{"rows", 500}});
  else
    executable.prepare({});
  return lines;
}

class VerifiedProgram : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    Texts, VerifiedProgram,
    testing::Values(
        // Rows with a scalar, a weight with strides, and a final cast.
        "graph a(x: bf16[rows, 96], w: f32[96], s: f32[]) {\n"
        "  h = cast x {to = f32}\n  m = mean h {axes = [1], keep = true}\n  c = sub h, m\n"
        "  d = mul c, w\n  e = mul d, s\n  y = cast e {to = bf16}\n  return y\n}\n",
        // Two kernels: the second reads results of the first.
        "graph b(x: f32[rows, 64], z: f32[64, 64]) {\n"
        "  a = sum x {axes = [0], keep = false}\n  b = max z {axes = [1], keep = false}\n"
        "  c = mul a, b\n  d = sub x, c\n  e = sum d {axes = [0], keep = false}\n  return d, "
        "e\n}\n",
        // An input that is read and updated in place.
        "graph c(w: f32[rows, 128], g: f32[rows, 128]) {\n"
        "  d = mul g, 0.125\n  n = sub w, d\n  update w, n\n}\n",
        // Concat segments within rows.
        "graph f(x: f32[rows, 128], y: f32[rows, 64]) {\n"
        "  p = softmax x {axis = 1}\n  q = softmax y {axis = 1}\n"
        "  c = concat p, q {axis = 1}\n  return c\n}\n",
        // A segment and the whole concat are read in the kernel that computes all segments.
        "graph g(a: f32[rows, 32], b: f32[8, 32]) {\n"
        "  p = softmax a {axis = 1}\n  q = softmax b {axis = 1}\n"
        "  y = concat p, q {axis = 0}\n  m = cumsum p {axis = 0}\n"
        "  r = cumsum y {axis = 0}\n  return y, m, r\n}\n",
        // Indices, some of which are out of range and clamped.
        "graph d(t: f32[32, 48], i: i32[rows]) {\n"
        "  y = take t, i {axis = 0}\n  z = mul y, 2.0\n  return z\n}\n",
        // Views, concat segments and an extent that is a constant.
        "graph e(x: f32[rows, 40], y: f32[rows, 24]) {\n"
        "  c = concat x, y {axis = 1}\n  p = permute c {axes = [1, 0]}\n"
        "  m = mean p {axes = [1], keep = true}\n  z = sub p, m\n  return z\n}\n"));

TEST_P(VerifiedProgram, IsWithinTheOraclesBounds) {
  const std::vector<std::string> lines = tuning_log(parse(GetParam()), 2);
  EXPECT_THAT(lines, Not(SizeIs(0)));
  EXPECT_THAT(lines, Each(HasSubstr("elements are within the oracle's bounds")));
}

/// Oracles of custom ops belong to the caller, so tuning does not call them.
TEST(VerifyDefaultSchedule, SkipsCustomOps) {
  Graph graph("halves");
  const Tensor x = graph.input("x", f32, {graph.extent("rows"), 1024});
  const auto oracle = [](std::span<const long double>) -> long double {
    throw std::runtime_error("called");
  };
  graph.output("y", custom_op("half", "float half_of(float x) { return x * 0.5f; }", {x},
                              {.oracle = oracle}));
  EXPECT_THAT(tuning_log(graph, 2), Contains(HasSubstr("is not verified: it has custom ops")));
}

/// No guard requires that extents are not negative.
TEST(VerifyDefaultSchedule, ChoosesNoNegativeSizes) {
  EXPECT_THAT(tuning_log(parse("graph below(x: f32[rows, 64], y: f32[rows - 16, 64]) {\n"
                               "  s = slice x {axis = 0, begin = 16, end = rows, step = 1}\n"
                               "  z = mul s, y\n  return z\n}\n"),
                         2),
              Contains(HasSubstr("at rows = 17 ")));
}

/// Candidates with resident tiles have no scratch memory for values that others store.
TEST(VerifyDefaultSchedule, AcceptsCandidatesThatKeepValuesResident) {
  const std::vector<std::string> lines =
      tuning_log(parse("graph mirrored(x: f32[1, 128, 16, 16]) {\n"
                       "  v, m = var_mean x {axes = [0, 2, 3], correction = 0, keep = true}\n"
                       "  d = sub x, m\n  e = add v, 1e-5\n  r = rsqrt e\n  n = mul d, r\n"
                       "  i0 = iota {extent = 18, start = -1, step = 1, dtype = i64}\n"
                       "  i1 = abs i0\n  i2 = sub 15, i1\n  i3 = abs i2\n  i4 = sub 15, i3\n"
                       "  rows = index n, i4 {axes = [2]}\n  y = index rows, i4 {axes = [3]}\n"
                       "  return y\n}\n"),
                 2, /*has_rows=*/false);
  EXPECT_THAT(lines, Not(SizeIs(0)));
  EXPECT_THAT(lines, Each(Not(HasSubstr("is wrong"))));
}

}  // namespace
}  // namespace sinter::verify_default_schedule_test
