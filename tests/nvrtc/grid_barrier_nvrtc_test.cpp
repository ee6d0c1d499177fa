// The grid barrier of the prelude compiles for every GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/prelude/prelude.h"
#include "runtime/compile/nvrtc.h"

namespace sinter::test::grid_barrier_nvrtc_test {
namespace {

using ::testing::HasSubstr;

constexpr SourcePart kTwoPhases = {"two_phases", R"(
extern "C" __global__ void __launch_bounds__(256)
two_phases(unsigned* arrivals, float* x, float* y, const int size) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < size; i += gridDim.x * 256)
    store(x, i, static_cast<float>(i));
  block_barrier();
  grid_barrier(arrivals);
  grid_depart(arrivals);
  for (int i = blockIdx.x * 256 + threadIdx.x; i < size; i += gridDim.x * 256)
    store(y, i, load(x, size - 1 - i));
}
)"};

class GridBarrier : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

TEST_P(GridBarrier, Compiles) {
  const NvrtcOutput output =
      nvrtc().nvrtc->compile(prelude_text(Prelude::cuda), {&kTwoPhases, 1}, GetParam());
  ASSERT_EQ(output.kernels.size(), 1U);
  EXPECT_EQ(output.kernels.begin()->second.spill_bytes, 0);
  // The loop reads memory again in each iteration.
  EXPECT_THAT(output.ptx, HasSubstr("ld.volatile"));
}

INSTANTIATE_TEST_SUITE_P(Architectures, GridBarrier, testing::Values("sm_75", "sm_90"));

}  // namespace
}  // namespace sinter::test::grid_barrier_nvrtc_test
