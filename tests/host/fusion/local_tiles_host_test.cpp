// Resident tiles that one block processes in several phases. Results are within the oracle's bounds
// and have the bits of the unfused graph and every other schedule. Launches move the predicted
// bytes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <tuple>

#include "tests/support/graphs/resident_tile_graphs.h"
#include "tests/support/run/run.h"

namespace sinter::test::local_tiles_host_test {
namespace {

/// Expects one launch with local tiles, whose schedule contains `what`. It moves at most `most`
/// times the minimum bytes.
void run(const std::string& text, const std::string& what, double most) {
  const RunResult result = run_and_check(text, {}, {.replay = false});
  ASSERT_EQ(result.report.kernels.size(), 1U);
  const KernelReport& kernel = result.report.kernels[0];
  EXPECT_NE(kernel.schedule.find("local tiles of "), std::string::npos) << kernel.schedule;
  EXPECT_NE(kernel.schedule.find(what), std::string::npos) << kernel.schedule;
  EXPECT_LE(kernel.bytes_read + kernel.bytes_written, most * double(kernel.minimal_bytes));
}

/// Channels of odd extents, some of which are a multiple of 16 bytes. If `returns_inside`, the
/// values before padding are an output too.
class MirroredChannels : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(MirroredChannels, AreReadOnce) {
  const auto& [dtype, returns_inside] = GetParam();
  run(mirrored_instance_norm(dtype, 144, 31, returns_inside ? 40 : 33, returns_inside), " unit",
      1.01);
}

INSTANTIATE_TEST_SUITE_P(DTypes, MirroredChannels,
                         testing::Combine(testing::Values("f16", "bf16", "f32", "f64"),
                                          testing::Bool()));

/// The results of a phase over three arrays stay in shared memory. Sums over all images follow a
/// grid barrier.
TEST(LocalTiles, ImagesStayResident) { run(group_norm_backward(129, 8, 4, 49), " unit", 1.05); }

TEST(LocalTiles, ChannelsOfAllImagesStayResident) {
  run(R"(
graph joined_norm(a: bf16[127, 16, 3, 5], b: bf16[127, 168, 3, 5], w: f32[184, 1, 1]) {
  x = concat a, b {axis = 1}
  h = cast x {to = f32}
  v, m = var_mean h {axes = [0, 2, 3], correction = 0, keep = true}
  d = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul d, r
  q = mul n, w
  y = relu q
  p = mean y {axes = [2, 3]}
  return x, p
})",
      " channel", 1.05);
}

/// Heads and rows are transposed, and other heads of the row are added. The block stores its part
/// of each head in strips.
TEST(LocalTiles, TransposedHeads) {
  run(R"(
graph turned_heads(x: bf16[997, 12, 64], w: bf16[64]) {
  h = cast x {to = f32}
  q = mul h, h
  m = mean q {axes = [2], keep = true}
  e = add m, 1e-6
  r = rsqrt e
  n = mul h, r
  c = cast n {to = bf16}
  g = mul c, w
  p = permute g {axes = [1, 0, 2]}
  low = slice p {axis = 0, begin = 0, end = 6, step = 1}
  high = slice p {axis = 0, begin = 6, end = 12, step = 1}
  t = concat high, low {axis = 0}
  y = add p, t
  return y
})",
      "strips of", 1.01);
}

/// The same with row reductions, whose results are read again by conditional slices. Both
/// transposed results share k and l.
TEST(LocalTiles, TransposedReducedRows) {
  const auto transposed = [](const std::string& from, const std::string& to) {
    return fmt::format(R"(
  {1}p = permute {0} {{axes = [1, 0, 2]}}
  {1}h = cast {1}p {{to = f32}}
  {1}q = mul {1}h, {1}h
  {1}m = mean {1}q {{axes = [2], keep = true}}
  {1}e = add {1}m, 1e-6
  {1}r = rsqrt {1}e
  {1}n = mul {1}h, {1}r
  {1}c = cast {1}n {{to = bf16}}
  {1}low = slice {1}c {{axis = 2, begin = 0, end = 128, step = 1}}
  {1}high = slice {1}c {{axis = 2, begin = 128, end = 256, step = 1}}
  {1}minus = neg {1}high
  {1}t = concat {1}minus, {1}low {{axis = 2}}
  {1}y1 = mul {1}c, k
  {1}y2 = mul {1}t, l
  {1} = add {1}y1, {1}y2)",
                       from, to);
  };
  run(R"(
graph turned_rows(x: bf16[499, 8, 256], z: bf16[499, 4, 256], at: i64[499], w: f32[256]) {
  o = cast at {to = f32}
  f = reshape o {shape = [499, 1]}
  a = mul f, w
  co = cos a
  k = cast co {to = bf16}
  si = sin a
  l = cast si {to = bf16})" +
          transposed("x", "of_x") + transposed("z", "of_z") + R"(
  return k, l, of_x, of_z
})",
      "strips of 1", 1.01);
}

}  // namespace
}  // namespace sinter::test::local_tiles_host_test
