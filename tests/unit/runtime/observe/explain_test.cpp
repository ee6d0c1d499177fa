// Predictions for kernels before they run, with or without NVRTC.
#include "sinter/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/target/target.h"
#include "sinter/error.h"
#include "sinter/text.h"

namespace sinter::explain_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAdd = R"(graph add(a: f32[rows, 1024], b: f32[rows, 1024]) {
  sum = add a, b
  y = maximum sum, 0.0
  return y
})";

TEST(ExplainTest, PredictsBytesLaunchesAndTime) {
  const Explanation explanation = explain(parse(kAdd), {{"rows", 1 << 16}});
  const std::int64_t bytes = std::int64_t{3} << 28;
  EXPECT_EQ(explanation.target, "h200");
  EXPECT_EQ(explanation.arch, "sm_90");
  EXPECT_EQ(explanation.launches, 1);
  EXPECT_EQ(explanation.bytes, bytes);
  EXPECT_EQ(explanation.minimal_bytes, bytes);
  EXPECT_EQ(explanation.unfused_launches, 2);
  EXPECT_GT(explanation.unfused_bytes, bytes);
  ASSERT_EQ(explanation.kernels.size(), 1U);
  const Target& target = *find_target("h200");
  EXPECT_NEAR(explanation.kernels[0].predicted_us,
              1e6 * (target.launch_seconds + static_cast<double>(bytes) / target.bandwidth), 0.01);
  EXPECT_EQ(explanation.predicted_us, explanation.kernels[0].predicted_us);
}

TEST(ExplainTest, UsesTheNamedTarget) {
  const Explanation a100 = explain(parse(kAdd), {{"rows", 1 << 16}}, {.target = "a100"});
  const Explanation h200 = explain(parse(kAdd), {{"rows", 1 << 16}});
  EXPECT_EQ(a100.arch, "sm_80");
  EXPECT_GT(a100.predicted_us, h200.predicted_us);
}

TEST(ExplainTest, EmptyGraphsTakeNoTime) {
  const Explanation explanation = explain(parse(kAdd), {{"rows", 0}});
  EXPECT_EQ(explanation.launches, 0);
  EXPECT_EQ(explanation.predicted_us, 0);
}

TEST(ExplainTest, SectionsShareOneLaunchOverhead) {
  const char* const text = R"(graph batch_norm(x: f32[256, 64], running: f32[64], momentum: f32) {
  v, m = var_mean x {axes = [0], correction = 0, keep = false}
  c = sub x, m
  e = add v, 1e-05
  r = rsqrt e
  y = mul c, r
  d = sub m, running
  t = mul d, momentum
  n = add running, t
  update running, n
  return y
})";
  const Explanation fused = explain(parse(text));
  const Explanation separate = explain(parse(text), {}, {.skip = {"fuse_launches"}});
  ASSERT_EQ(fused.launches, 1);
  ASSERT_EQ(separate.launches, 2);
  const double launch_us = 1e6 * find_target("h200")->launch_seconds;
  EXPECT_NEAR(fused.predicted_us, separate.predicted_us - launch_us, 1e-6);
}

TEST(ExplainTest, RejectsUnknownTargets) {
  try {
    explain(parse(kAdd), {{"rows", 64}}, {.target = "h2000"});
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("options.target: there is no GPU h2000; known are sm_90, h200"));
  }
}

}  // namespace
}  // namespace sinter::explain_test
