// Fused launches give the bits of separate kernels, under every schedule and with any number of
// concurrent blocks.
#include <gtest/gtest.h>

#include "runtime/driver/host/host_driver.h"
#include "tests/support/run/run.h"

namespace sinter::test::fused_launch_test {
namespace {

/// Sums over all axes but one, in two phases, and their consumers.
constexpr const char* kBatchNorm = R"(
graph batch_norm(x: f32[n, c, 7, 9], w: f32[c] {range = [0.5, 1.5]}) {
  v, m = var_mean x {axes = [0, 2, 3], keep = true}
  d  = sub x, m
  e  = add v, 1e-5
  r  = rsqrt e
  w4 = reshape w {shape = [1, c, 1, 1]}
  a  = mul d, r
  y  = mul a, w4
  return y, v, m
})";

/// Independent kernels, one of which needs a last-block finish.
constexpr const char* kSideBySide = R"(
graph apart(x: f32[n], z: bf16[c, 33], u: i32[5]) {
  y = exp x
  t = sum x
  s = max z {axes = [1]}
  q = cumsum u {axis = 0}
  k = mul u, 3
  return y, t, s, q, k
})";

/// The last block has work even if no other block has any.
constexpr const char* kTail = R"(
graph tail(x: f32[n, 64]) {
  a = sum x {axes = [1]}
  b = exp a
  s = sum b {axes = [0]}
  m = max b {axes = [0]}
  t = add s, 1.0
  return s, t, m, b
})";

/// An in-place update of p, whose other reader must still see the old values, and temporaries
/// between phases.
constexpr const char* kUpdate = R"(
graph step(p: f32[n, c], g: f32[n, c]) {
  s  = sum g {axes = [0], keep = true}
  t  = sum s {axes = [1], keep = true}
  d  = div g, t
  q  = sub p, d
  pp = mul p, p
  norm = sum pp
  update p, q
  return norm
})";

/// Sections whose vectors extend past row ends, one of them in a later phase.
constexpr const char* kPastTheEnds = R"(
graph past(x: f32[n, 64, 35], z: bf16[c, 33], w: bf16[33]) {
  s = sum x {axes = [0, 2], keep = true}
  y = sub x, s
  a = add z, w
  return y, a
})";

class FusedLaunch : public testing::TestWithParam<int> {
 protected:
  FusedLaunch() { host::configure({.workers = GetParam()}); }
  ~FusedLaunch() override { host::configure({}); }
};

TEST_P(FusedLaunch, PhasesOfASumAndItsConsumers) {
  const RunResult run = run_and_check(kBatchNorm, {{"n", 5}, {"c", 37}});
  EXPECT_EQ(run.launches, 1);
}

TEST_P(FusedLaunch, IndependentKernels) {
  const RunResult run = run_and_check(kSideBySide, {{"n", 5000}, {"c", 19}});
  EXPECT_EQ(run.launches, 1);
}

TEST_P(FusedLaunch, EmptySections) {
  run_and_check(kSideBySide, {{"n", 5000}, {"c", 0}});
  run_and_check(kSideBySide, {{"n", 0}, {"c", 19}});
}

TEST_P(FusedLaunch, LastBlockWorksIfOthersHaveNoWork) {
  for (const std::int64_t n : {0, 1, 40}) run_and_check(kTail, {{"n", n}});
}

TEST_P(FusedLaunch, UpdatesInALaterPhase) {
  const RunResult run = run_and_check(kUpdate, {{"n", 129}, {"c", 65}});
  EXPECT_EQ(run.launches, 1);
}

TEST_P(FusedLaunch, VectorsPastRowEnds) {
  const RunResult run = run_and_check(kPastTheEnds, {{"n", 700}, {"c", 41}});
  EXPECT_EQ(run.launches, 1);
}

INSTANTIATE_TEST_SUITE_P(Workers, FusedLaunch, testing::Values(1, 2, 3, 7));

}  // namespace
}  // namespace sinter::test::fused_launch_test
