// The number of loads in flight comes from machine code, whose format is undocumented. Kernels with
// known loads check the decoder for every architecture of this NVRTC.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/compile/nvrtc.h"

namespace sinter::test::loads_in_flight_nvrtc_test {
namespace {

class LoadsInFlightTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }

  static void expect_loads(const char* text, int loads, std::int64_t bytes) {
    const SourcePart part = {"f", text};
    for (const int number : nvrtc().nvrtc->architectures()) {
      const NvrtcOutput output =
          nvrtc().nvrtc->compile("", {&part, 1}, fmt::format("sm_{}", number));
      ASSERT_EQ(output.kernels.size(), 1U);
      EXPECT_EQ(output.kernels.at("f").loads_in_flight, loads) << "sm_" << number;
      EXPECT_EQ(output.kernels.at("f").bytes_in_flight, bytes) << "sm_" << number;
    }
  }
};

TEST_F(LoadsInFlightTest, IndependentLoadsAddUp) {
  expect_loads(R"(
extern "C" __global__ void f(const float4* __restrict__ x, float4* __restrict__ y) {
  const float4 a = x[threadIdx.x], b = x[threadIdx.x + 999], c = x[threadIdx.x + 1999];
  y[threadIdx.x] = make_float4(a.x + b.x + c.x, a.y * b.y * c.y, a.z + b.z + c.z, a.w * b.w * c.w);
})",
               3, 48);
}

TEST_F(LoadsInFlightTest, DependentLoadsAreSequential) {
  expect_loads(R"(
extern "C" __global__ void f(const int* __restrict__ x, int* __restrict__ y) {
  y[threadIdx.x] = x[x[x[threadIdx.x]]];
})",
               1, 4);
}

TEST_F(LoadsInFlightTest, EveryWidthIsKnown) {
  expect_loads(R"(
extern "C" __global__ void f(const unsigned char* __restrict__ a, const short* __restrict__ b,
                             const int* __restrict__ c, const double* __restrict__ d,
                             double* __restrict__ y) {
  const int i = threadIdx.x;
  y[i] = static_cast<double>(a[i] + b[i] + c[i]) + d[i];
})",
               4, 1 + 2 + 4 + 8);
}

TEST_F(LoadsInFlightTest, ABlockBarrierDoesNotWaitForLoads) {
  expect_loads(R"(
extern "C" __global__ void f(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[64];
  const float a = x[threadIdx.x];
  s[threadIdx.x] = 1.0f;
  __syncthreads();
  const float b = x[threadIdx.x + 999];
  y[threadIdx.x] = a * b + s[threadIdx.x ^ 1];
})",
               2, 8);
}

}  // namespace
}  // namespace sinter::test::loads_in_flight_nvrtc_test
