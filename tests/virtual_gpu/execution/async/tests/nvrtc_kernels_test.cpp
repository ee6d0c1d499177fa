// Kernels that NVRTC made of CUDA's headers for asynchronous copies, under all schedules.
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/async/tests/async_runner.h"
#include "tests/virtual_gpu/execution/async/tests/nvrtc_bulk_copies.h"
#include "tests/virtual_gpu/execution/async/tests/nvrtc_copies.h"
#include "tests/virtual_gpu/execution/async/tests/nvrtc_pipelines.h"

namespace sinter::virtual_gpu::nvrtc_kernels_test {
namespace {

std::vector<float> counted(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) + 0.5f);
  return values;
}

/// The results of a kernel of tiles: input, output, number of tiles.
std::vector<float> run_tiles(const char* kernel, std::uint32_t threads, std::size_t floats,
                             int tiles, const GpuOptions& options) {
  KernelRunner runner(options);
  const std::uint64_t in = runner.array(counted(floats));
  const std::uint64_t out = runner.allocate(floats * 4).address;
  runner.run(kernel, {.block = {threads, 1, 1}}, in, out, tiles);
  return runner.read<float>(out, floats);
}

TEST(NvrtcKernels, APipelineOfTwoTiles) {
  for_each_schedule([](const GpuOptions& options) {
    constexpr std::size_t kTile = 256;
    const std::vector<float> result = run_tiles(kPipelineKernel, 64, 3 * kTile, 3, options);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::size_t tile = i / kTile, vector = i % kTile / 4, element = i % 4;
      const bool is_zero = tile == 1 && element >= 2;
      const std::size_t source = tile * kTile + (63 - vector) * 4 + element;
      ASSERT_EQ(result[i], is_zero ? 0.0f : static_cast<float>(source) + 0.5f) << i;
    }
  });
}

TEST(NvrtcKernels, CudaBarriersAwaitCopies) {
  for (const char* kernel : {kBarrierKernel80, kBarrierKernel90})
    for_each_schedule([&](const GpuOptions& options) {
      const std::vector<float> result = run_tiles(kernel, 32, 160, 5, options);
      for (std::size_t i = 0; i < result.size(); ++i)
        ASSERT_EQ(result[i], static_cast<float>(i / 32 * 32 + 31 - i % 32) + 0.5f) << i;
    });
}

TEST(NvrtcKernels, APipelineOfABlock) {
  for_each_schedule([](const GpuOptions& options) {
    const std::vector<float> result = run_tiles(kBlockPipelineKernel, 64, 320, 5, options);
    for (std::size_t i = 0; i < result.size(); ++i)
      ASSERT_EQ(result[i], static_cast<float>(i / 64 * 64 + 63 - i % 64) + 0.5f) << i;
  });
}

TEST(NvrtcKernels, BlocksOfAClusterAwaitTheirCopies) {
  for_each_schedule([](const GpuOptions& options) {
    KernelRunner runner(options);
    std::vector<float> values;
    for (int i = 0; i < 64; ++i) values.push_back(static_cast<float>(i));
    const std::uint64_t in = runner.array(values);
    const std::uint64_t out = runner.allocate(512).address;
    runner.run(kClusterKernel, {.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}}, in,
               out, 0);
    const std::vector<float> results = runner.read<float>(out, 128);
    for (std::size_t i = 0; i < 128; ++i) {
      // The sums of 2 * value over the warp are 992 and 3040.
      const float warp = i % 64 < 32 ? 992.0f : 3040.0f;
      ASSERT_EQ(results[i], 2 * static_cast<float>(i % 64) + warp + 32) << i;
    }
  });
}

TEST(NvrtcKernels, BulkCopiesInBothDirections) {
  for_each_schedule([](const GpuOptions& options) {
    const std::vector<float> result = run_tiles(kBulkKernel, 64, 320, 5, options);
    for (std::size_t i = 0; i < result.size(); ++i)
      ASSERT_EQ(result[i], 2 * (static_cast<float>(i / 64 * 64 + 63 - i % 64) + 0.5f)) << i;
  });
}

TEST(NvrtcKernels, FloatAtomicsAndGroupsOfFourThreads) {
  KernelRunner runner;
  std::vector<float> floats(200);
  for (std::size_t i = 0; i < 64; ++i) floats[i] = static_cast<float>(i);
  floats[130] = std::bit_cast<float>(0x00050001u);
  const std::uint64_t f = runner.array(floats);
  const std::uint64_t d = runner.array(std::vector<double>{0.25});
  const std::uint64_t h = runner.array(std::vector<std::uint16_t>{0x3c00});
  const std::uint64_t h2 = runner.array(std::vector<std::uint32_t>{0x3c000000});
  const std::uint64_t b = runner.array(std::vector<std::uint16_t>{0xbf80});
  const std::uint64_t b2 = runner.array(std::vector<std::uint32_t>{0});
  const std::uint64_t v4 = runner.array(std::vector<float>{0, 1, 2, 3});
  runner.run(kAtomicKernel, {.block = {64, 1, 1}}, f, d, h, h2, b, b2, v4);
  const std::vector<float> results = runner.read<float>(f, 131);
  EXPECT_EQ(results[64], 2016.0f);
  EXPECT_EQ(results[65], 1.0f);  // thread 0 reads thread 1
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(results[66 + i], i >= 60 ? 1.0f : 0.0f) << i;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(results[130]), 0x00050002u);
  EXPECT_EQ(runner.read<double>(d, 1)[0], 64.25);
  EXPECT_EQ(runner.read<std::uint16_t>(h, 1)[0], 0x5410);        // 65
  EXPECT_EQ(runner.read<std::uint32_t>(h2, 1)[0], 0x58085400u);  // 129 and 64
  EXPECT_EQ(runner.read<std::uint16_t>(b, 1)[0], 0x427c);        // 63
  EXPECT_EQ(runner.read<std::uint32_t>(b2, 1)[0], 0x43004280u);  // 128 and 64
  EXPECT_EQ(runner.read<float>(v4, 4), (std::vector<float>{64, 129, 194, 259}));
}

}  // namespace
}  // namespace sinter::virtual_gpu::nvrtc_kernels_test
