// Kernels compute the same bits in every floating-point environment of the caller, and keep it.
#include "tests/host/driver/host_driver_fixture.h"

#include <cfenv>
#include <limits>

#include <gmock/gmock.h>

namespace sinter::host_driver_float_environment_test {
namespace {

using ::testing::Each;

constexpr int kBlocks = 64;

/// Restores the environment of the test program.
class ScopedEnvironment {
 public:
  ScopedEnvironment() { std::fegetenv(&before_); }
  ~ScopedEnvironment() { std::fesetenv(&before_); }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

/// Without barriers, blocks run on the calling thread, too. With barriers, all run on threads of
/// the host device, which the calling thread starts.
class HostDriverFloatEnvironmentTest : public HostDriverTest,
                                       public ::testing::WithParamInterface<bool> {
 protected:
  HostKernel kernel(const std::string& value) {
    return {.entry = "compute",
            .text = "extern \"C\" __global__ void compute(float* y, const float x) {\n" +
                    std::string(GetParam() ? "  block_barrier();\n" : "") +
                    "  y[blockIdx.x * blockDim.x + threadIdx.x] = " + value + ";\n}\n",
            .has_barrier = GetParam()};
  }
  std::vector<float> run(CUfunction function, float x) {
    const CUdeviceptr y = allocate(kBlocks * 4);
    EXPECT_EQ(launch(function, {.blocks = kBlocks}, y, x), CUDA_SUCCESS);
    return download<float>(y, kBlocks);
  }
};

INSTANTIATE_TEST_SUITE_P(Barriers, HostDriverFloatEnvironmentTest, ::testing::Bool());

TEST_P(HostDriverFloatEnvironmentTest, RoundsToNearestAndKeepsTheModeOfTheCaller) {
  const CUfunction add = function(kernel("1.0f + x"));
  const ScopedEnvironment environment;
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const std::vector<float> sums = run(add, 1e-10f);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_THAT(sums, Each(1.0f));
}

TEST_P(HostDriverFloatEnvironmentTest, HasNoTrapsAndSetsNoFlagsOfTheCaller) {
  const CUfunction divide = function(kernel("1.0f / x"));
  const ScopedEnvironment environment;
  std::feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_DIVBYZERO);
  const std::vector<float> quotients = run(divide, 0.0f);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO), 0);
  fedisableexcept(FE_DIVBYZERO);
  EXPECT_THAT(quotients, Each(std::numeric_limits<float>::infinity()));
}

#if defined(__x86_64__)
TEST_P(HostDriverFloatEnvironmentTest, KeepsDenormalNumbersThatTheCallerFlushes) {
  const CUfunction halve = function(kernel("x * 0.5f"));
  const ScopedEnvironment environment;
  constexpr unsigned kFlushToZero = 0x8040;  // results and operands
  const unsigned mode = __builtin_ia32_stmxcsr() | kFlushToZero;
  __builtin_ia32_ldmxcsr(mode);
  const std::vector<float> halves = run(halve, std::numeric_limits<float>::min());
  EXPECT_EQ(__builtin_ia32_stmxcsr() & kFlushToZero, kFlushToZero);
  __builtin_ia32_ldmxcsr(mode & ~kFlushToZero);
  EXPECT_THAT(halves, Each(std::numeric_limits<float>::min() / 2));
}
#endif

}  // namespace
}  // namespace sinter::host_driver_float_environment_test
