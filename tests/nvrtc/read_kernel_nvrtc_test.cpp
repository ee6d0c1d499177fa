// The read kernel, with which benchmarks compare reductions, has its documented loads in flight.
#include "bench/suite/read_kernel.h"

#include <gtest/gtest.h>

#include "runtime/compile/nvrtc.h"

namespace sinter::test::read_kernel_nvrtc_test {
namespace {

TEST(ReadKernelNvrtcTest, HasFourWideLoadsInFlight) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const SourcePart part{"read_only", suite::kReadText};
  for (const char* const arch : {"sm_80", "sm_90"}) {
    const NvrtcOutput output = nvrtc().nvrtc->compile("", {&part, 1}, arch);
    ASSERT_EQ(output.kernels.size(), 1U);
    const CubinReport& kernel = output.kernels.at("read_only");
    EXPECT_EQ(kernel.loads_in_flight, 4) << arch;
    EXPECT_EQ(kernel.bytes_in_flight, 64) << arch;
    EXPECT_EQ(kernel.spill_bytes, 0);
    EXPECT_LE(kernel.registers, 32) << "eight blocks of 256 threads are to fit an SM";
  }
}

}  // namespace
}  // namespace sinter::test::read_kernel_nvrtc_test
