// Transposed operands that are read through tiles. All candidates, with and without tiles, give the
// bits of the unfused graph and move the predicted bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/run/run.h"

namespace sinter::test::tiled_pointwise_test {
namespace {

/// Runs `text`, which has one kernel that reads operands through tiles.
void run_tiled(const std::string& text, std::vector<Size> sizes = {},
               const CheckSettings& settings = {}) {
  const RunResult result = run_and_check(text, std::move(sizes), settings);
  ASSERT_EQ(result.report.kernels.size(), 1U);
  EXPECT_THAT(result.report.kernels[0].schedule, testing::HasSubstr("tiles of"));
  EXPECT_THAT(result.report.kernels[0].source, testing::HasSubstr(".put("));
}

/// Runs `text`, which has one kernel that stores results through tiles.
void run_stored(const std::string& text, std::vector<Size> sizes = {}) {
  const RunResult result = run_and_check(text, std::move(sizes));
  ASSERT_EQ(result.report.kernels.size(), 1U);
  EXPECT_THAT(result.report.kernels[0].source, testing::HasSubstr(".take<"));
}

/// Several dtypes, and aligned, odd and prime extents.
class Tiled : public testing::TestWithParam<std::tuple<const char*, std::pair<int, int>>> {};

TEST_P(Tiled, TransposeAndAdd) {
  const auto& [dtype, extents] = GetParam();
  run_tiled(fmt::format(R"(
graph transpose_add(a: {0}[{1}, {2}], b: {0}[{2}, {1}]) {{
  t = permute b {{axes = [1, 0]}}
  y = add a, t
  return y
}})",
                        dtype, extents.first, extents.second));
}

INSTANTIATE_TEST_SUITE_P(DtypesAndExtents, Tiled,
                         testing::Combine(testing::Values("f32", "bf16", "f64", "i8"),
                                          testing::Values(std::pair(128, 192), std::pair(67, 131),
                                                          std::pair(96, 40))));

TEST(TiledPointwise, ChannelsFirstToChannelsLastOfSymbolicBatch) {
  for (const std::int64_t batch : {1, 3})
    run_tiled(R"(
graph to_channels_last(x: bf16[batch, 64, 8, 9], scale: f32[64]) {
  p = permute x {axes = [0, 2, 3, 1]}
  h = cast p {to = f32}
  s = mul h, scale
  y = cast s {to = bf16}
  return y
})",
              {{"batch", batch}});
}

TEST(TiledPointwise, SymbolicRowsAndColumns) {
  for (const std::int64_t columns : {64, 75})
    run_tiled(R"(
graph symbolic(a: f32[rows, columns], b: f32[columns, rows]) {
  t = permute b {axes = [1, 0]}
  s = mul t, 0.5
  y = add a, s
  return y
})",
              {{"rows", 70}, {"columns", columns}}, {.misaligned = true});
}

TEST(TiledPointwise, SeveralOperandsOfSeveralDtypes) {
  run_tiled(R"(
graph several(a: f32[3, 72, 80], b: bf16[3, 72, 80], c: f64[3, 72, 80], d: f32[3, 80, 72], e: f32[72]) {
  p = permute a {axes = [0, 2, 1]}
  h = cast b {to = f32}
  q = permute h {axes = [0, 2, 1]}
  g = cast c {to = f32}
  r = permute g {axes = [0, 2, 1]}
  s = add p, q
  t = mul s, d
  u = sub t, r
  y = add u, e
  return y
})");
}

TEST(TiledPointwise, TwoResultsOfOneTile) {
  run_tiled(R"(
graph results(a: f32[100, 130], b: bf16[130, 100]) {
  p = permute a {axes = [1, 0]}
  h = cast b {to = f32}
  s = add p, h
  y = exp s
  z = cast s {to = bf16}
  return y, z
})");
}

/// The tile's second axis is not adjacent to the last one.
TEST(TiledPointwise, TheFirstAxisBecomesTheLast) {
  run_tiled(R"(
graph reversed(x: f32[48, 5, 70]) {
  p = permute x {axes = [2, 1, 0]}
  y = mul p, 2.0
  return y
})");
}

TEST(TiledPointwise, StridedInputsAndPaddedRows) {
  run_tiled(R"(
graph padded(x: f32[64, 72] {strides = [80, 1]}, z: f32[72, 64] {strides = [1, 72]}) {
  t = permute x {axes = [1, 0]}
  y = add t, z
  return y
})");
}

TEST(TiledPointwise, UpdatesATransposedParameter) {
  run_and_check(R"(
graph step(w: f32[96, 64], g: f32[64, 96], rate: f32) {
  t = permute g {axes = [1, 0]}
  d = mul t, rate
  n = sub w, d
  update w, n
})");
}

TEST(TiledPointwise, SegmentsOfAConcatAndPaddedRows) {
  run_tiled(R"(
graph pieces(a: bf16[2, 40, 5, 28] {strides = [5600, 1, 1120, 40]}, b: f32[2, 33, 5, 28] {strides = [4620, 1, 924, 33]}) {
  h = cast a {to = f32}
  c = concat h, b {axis = 1}
  p = pad c {low = [0, 0, 1, 0], high = [0, 0, 0, 1], value = 0.0}
  y = mul p, 0.5
  return y
})");
}

TEST(TiledPointwise, RowsOfTwoAxes) {
  run_tiled(R"(
graph runs(x: bf16[3, 5, 8, 32]) {
  p = permute x {axes = [0, 3, 1, 2]}
  v = reshape p {shape = [96, 40]}
  y = neg v
  return y
})");
}

/// The second result is stored along its own contiguous axis, with and without operands in that
/// layout.
TEST(TiledPointwise, ResultsInTwoLayouts) {
  for (const auto& [rows, columns] : {std::pair(64, 96), std::pair(67, 50)})
    run_stored(fmt::format(R"(
graph layouts(a: f32[2, {0}, {1}], b: bf16[2, {0}, {1}]) {{
  h = cast b {{to = f32}}
  s = add a, h
  u = mul s, 2.0
  v = cast u {{to = bf16}}
  return s, v {{strides = [{2}, 1, {0}]}}
}})",
                           rows, columns, rows * columns));
  run_stored(R"(
graph exchange(a: f32[64, 96], b: f32[96, 64], c: i8[64, 96]) {
  t = permute b {axes = [1, 0]}
  s = add a, t
  d = sub a, t
  e = mul c, 3
  return s, d {strides = [1, 64]}, e {strides = [1, 80]}
})");
}

/// Sections of one launch share the shared memory of a block, within one phase and across phases.
TEST(TiledPointwise, SectionsOfAFusedLaunch) {
  const RunResult result = run_and_check(R"(
graph sections(a: f32[96, 128], b: bf16[64, 96], c: f32[96, 64], d: f32[60, 64]) {
  p = permute a {axes = [1, 0]}
  y = mul p, 2.0
  q = permute b {axes = [1, 0]}
  h = cast q {to = f32}
  z = add h, c
  s = sum c {axes = [0, 1]}
  t = permute d {axes = [1, 0]}
  u = mul t, s
  return y, z, u
})");
  ASSERT_EQ(result.report.kernels.size(), 1U);
  const std::string& source = result.report.kernels[0].source;
  int tiles = 0;
  for (std::size_t at = source.find("tiles of"); at != std::string::npos;
       at = source.find("tiles of", at + 1))
    ++tiles;
  EXPECT_EQ(tiles, 2) << source;
}

}  // namespace
}  // namespace sinter::test::tiled_pointwise_test
