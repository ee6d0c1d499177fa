// The comparison of candidates' results on a GPU: every byte counts, and NaNs are equal.
#include "runtime/tuning/kept_results.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/plan.h"
#include "ir/shape/extent.h"
#include "runtime/execution/make_variant.h"
#include "sinter/device.h"
#include "sinter/text.h"

namespace sinter::test::kept_results_gpu_test {
namespace {

class ComparisonOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
    current = std::make_unique<CurrentContext>(state());
  }
  DeviceState& state() const { return *device.state(); }
  CUstream handle() const { return stream.state()->handle; }

  const Device device = default_device();
  const Stream stream = device.stream();
  std::unique_ptr<CurrentContext> current;
};

TEST_F(ComparisonOnGpu, FindsADifferenceOfOneByte) {
  const ComparisonKernel kernel(state());
  ASSERT_TRUE(kernel.is_usable());
  constexpr std::int64_t kBytes = 1 << 18;
  const DeviceMemory a(state(), kBytes, "a test"), b(state(), kBytes, "a test");
  const DeviceMemory flag(state(), sizeof(unsigned), "a test");
  const Driver& driver = state().driver;
  const auto fill = [&](CUdeviceptr at, unsigned char value, std::size_t bytes) {
    ASSERT_EQ(driver.cuMemsetD8Async(at, value, bytes, handle()), CUDA_SUCCESS);
  };
  const auto differs = [&](std::int64_t begin, std::int64_t bytes) {
    fill(flag.pointer, 0, sizeof(unsigned));
    const auto offset = static_cast<CUdeviceptr>(begin);
    kernel.compare(a.pointer + offset, b.pointer + offset, bytes, flag.pointer, handle());
    unsigned result = 0;
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(&result, flag.pointer, sizeof result, handle()),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(handle()), CUDA_SUCCESS);
    return result != 0;
  };
  fill(a.pointer, 1, kBytes);
  fill(b.pointer, 1, kBytes);
  for (const std::int64_t begin : {0, 1, 15, 16, 250})
    for (const std::int64_t bytes : {0, 1, 2, 15, 16, 17, 31, 33, 3000, 200'001}) {
      EXPECT_FALSE(differs(begin, bytes));
      if (bytes == 0) continue;
      for (const std::int64_t place : {begin, begin + bytes / 2, begin + bytes - 1}) {
        fill(b.pointer + static_cast<CUdeviceptr>(place), 3, 1);
        EXPECT_TRUE(differs(begin, bytes)) << begin << " " << bytes << " " << place;
        fill(b.pointer + static_cast<CUdeviceptr>(place), 1, 1);
      }
      // The bytes around the range do not count.
      fill(b.pointer + static_cast<CUdeviceptr>(begin + bytes), 3, 1);
      if (begin > 0) fill(b.pointer + static_cast<CUdeviceptr>(begin - 1), 3, 1);
      EXPECT_FALSE(differs(begin, bytes)) << begin << " " << bytes;
      fill(b.pointer, 1, kBytes);
    }
}

/// Devices choose the bits of a NaN.
TEST_F(ComparisonOnGpu, NansAreEqual) {
  const std::vector<std::int64_t> symbols = {1003};
  const Program program = plan(parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n"),
                               *find_target("h200"), {.symbols = symbols}, {});
  const EmittedKernel emitted = emit_candidates(program, program.kernels.at(0), 1);
  const CompiledUnit unit;  // scratch buffers need no code
  const ScratchBuffers buffers(state(),
                               {.program = program,
                                .kernel = program.kernels[0],
                                .sources = emitted.sources,
                                .schedules = emitted.schedules,
                                .unit = unit,
                                .symbols = symbols},
                               /*sets=*/1, handle());
  ASSERT_EQ(buffers.results().size(), 1U);
  const CUdeviceptr last = buffers.results()[0].pointer + 4 * 1002;
  const auto set_last = [&](unsigned bits) {
    ASSERT_EQ(state().driver.cuMemsetD32Async(last, bits, 1, handle()), CUDA_SUCCESS);
  };
  for (const std::int64_t most_on_host : {std::int64_t{0}, KeptResults::kMostOnHost}) {
    set_last(0x7fc00000);
    const KeptResults kept(state(), buffers, handle(), most_on_host);
    EXPECT_TRUE(kept.equal_current());
    set_last(0xffc00001);
    EXPECT_TRUE(kept.equal_current());
    set_last(0x3f800000);
    EXPECT_FALSE(kept.equal_current());
  }
}

}  // namespace
}  // namespace sinter::test::kept_results_gpu_test
