// A kernel that spills is compiled again with fewer blocks to leave registers for.
#include <gtest/gtest.h>

#include "runtime/nvrtc.h"
#include "runtime/nvrtc_units.h"

namespace sinter::test {
namespace {

/// More live values than 32 registers, which is what eight blocks of 256 threads leave.
constexpr const char* kCrowded = R"(
extern "C" __global__ void __launch_bounds__(256, 8) crowded(const float* x, float* y, int n) {
  float a[60];
#pragma unroll
  for (int i = 0; i < 60; ++i) a[i] = x[i * n + threadIdx.x];
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < 60; ++i) a[i] = a[i] * a[(i + 1) % 60] + 0.5f;
#pragma unroll
  for (int i = 0; i < 60; ++i) y[i * n + threadIdx.x] = a[i];
})";

TEST(Spills, AreCompiledAwayWhereFewerBlocksHelp) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().why_not;
  const SourcePart part = {"crowded", kCrowded};
  const NvrtcOutput once = nvrtc().nvrtc->compile("", {&part, 1}, "sm_90");
  ASSERT_GT(once.kernels[0].spill_bytes, 0);
  const Source source{.entry = "crowded", .text = kCrowded, .threads = 256};
  const NvrtcUnit unit = compile_unit({&source, 1}, "sm_90");
  EXPECT_EQ(unit.reports[0].spill_bytes, 0);
  EXPECT_GT(unit.reports[0].registers, once.kernels[0].registers);
  EXPECT_GT(unit.milliseconds, 0);
}

}  // namespace
}  // namespace sinter::test
