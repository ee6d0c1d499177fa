// Kernels run on the host device: threads, blocks, barriers, shuffles, shared memory.
#include "runtime/device/launch_grid.h"
#include "tests/host/driver/host_driver_fixture.h"

#include <numeric>

#include <fmt/format.h>

#include <gmock/gmock.h>

namespace sinter::host_driver_launch_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class HostDriverLaunchTest : public HostDriverTest {};

TEST_F(HostDriverLaunchTest, RunsEveryThreadOfEveryBlock) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  const CUdeviceptr x = upload(values), y = allocate(4000);

  ASSERT_EQ(launch(function(increment_kernel()), {.blocks = 4, .threads = 256}, x, y, 1000),
            CUDA_SUCCESS);

  const std::vector<float> results = download<float>(y, 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(results[i], i + 1);
}

TEST_F(HostDriverLaunchTest, ReportsKernelParameters) {
  const CUfunction kernel = function({.entry = "takes", .text = R"(
extern "C" __global__ void takes(const bool flag, const int n, float* y, const int m,
                                 const double d, const bool last,
                                 const __grid_constant__ TableValues<3> table) {
  if (flag || last) y[0] = n + m + d + table_value<int>(table.values, 2);
}
)"});
  std::vector<std::size_t> parameters;
  std::size_t offset = 0, bytes = 0;
  while (driver.cuFuncGetParamInfo(kernel, parameters.size() / 2, &offset, &bytes) == CUDA_SUCCESS)
    parameters.insert(parameters.end(), {offset, bytes});
  EXPECT_THAT(parameters, ::testing::ElementsAre(0, 1, 4, 4, 8, 8, 16, 4, 24, 8, 32, 1, 40, 24));
  EXPECT_EQ(driver.cuFuncGetParamInfo(kernel, 7, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncGetParamInfo(kernel, 4, &offset, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuFuncGetParamInfo(kernel, 0, nullptr, &bytes), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostDriverLaunchTest, NumbersThreadsAndBlocksInThreeDimensions) {
  const HostKernel kernel{.entry = "number", .text = R"(
extern "C" __global__ void number(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * 24 + thread] = 100 * blockIdx.z + 10 * threadIdx.z + threadIdx.y;
}
)"};
  const CUdeviceptr out = allocate(24 * 24 * 4);
  CUdeviceptr pointer = out;
  void* parameters[] = {&pointer};
  const CUlaunchConfig config{
      .gridDimX = 2, .gridDimY = 3, .gridDimZ = 4, .blockDimX = 4, .blockDimY = 3, .blockDimZ = 2};
  ASSERT_EQ(driver.cuLaunchKernelEx(&config, function(kernel), parameters, nullptr), CUDA_SUCCESS);

  const std::vector<int> results = download<int>(out, 24 * 24);
  EXPECT_EQ(results[0], 0);
  EXPECT_EQ(results[23 * 24 + 23], 312);              // last thread of the last block
  EXPECT_EQ(results[6 * 24 + 12 + 4], 100 + 10 + 1);  // block (0, 0, 1), thread (0, 1, 1)
}

TEST_F(HostDriverLaunchTest, EarlyStartingKernelsMustWait) {
  const auto launch_early = [&](std::string_view first_statement) {
    const HostKernel kernel{
        .entry = "set",
        .text = fmt::format("extern \"C\" __global__ void set(int* out) {{\n  {}\n"
                            "  out[blockIdx.x] = 7;\n}}\n",
                            first_statement)};
    CUdeviceptr out = allocate(3 * 4);
    void* parameters[] = {&out};
    LaunchAttributes attributes =
        stream_attributes({.entry = "early", .text = {}}, /*starts_early=*/true);
    const CUlaunchConfig config{.gridDimX = 3,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 1,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .attrs = attributes.list.data(),
                                .numAttrs = attributes.count};
    const CUresult launched =
        driver.cuLaunchKernelEx(&config, function(kernel), parameters, nullptr);
    return launched == CUDA_SUCCESS ? driver.cuStreamSynchronize(nullptr) : launched;
  };
  EXPECT_EQ(launch_early("wait_for_prior_launches();"), CUDA_SUCCESS);
  EXPECT_EQ(launch_early(""), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(
      host::last_error(),
      HasSubstr("kernel set: its launch may start before the one in front of it has ended, but "
                "the kernel does not wait for that; begin it with wait_for_prior_launches()"));
}

// Sums a row with shuffles within warps and shared memory between warps.
HostKernel sum_kernel() {
  return {.entry = "row_sum",
          .text = R"(
extern "C" __global__ void row_sum(const float* x, float* y, const int columns) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += load(x, blockIdx.x * columns + i);
  for (int mask = 16; mask > 0; mask /= 2) sum += warp_xor(sum, mask);
  float* warps = reinterpret_cast<float*>(shared_memory());
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  block_barrier();
  float total = 0.0f;
  for (int i = 0; i < blockDim.x / 32; ++i) total += warps[i];
  block_barrier();
  if (threadIdx.x == 0) store(y, blockIdx.x, total);
}
)",
          .has_barrier = true};
}

TEST_F(HostDriverLaunchTest, SynchronizesThreadsInAnyOrder) {
  const std::vector<float> values(64 * 1024, 1.0f);
  const CUdeviceptr x = upload(values), y = allocate(64 * 4);
  const CUfunction kernel = function(sum_kernel());
  for (unsigned threads : {32u, 64u, 256u, 1024u})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      use_seed(seed);
      const Shape shape{.blocks = 64, .threads = threads, .shared_bytes = threads / 8};
      ASSERT_EQ(launch(kernel, shape, x, y, 1024), CUDA_SUCCESS);
      ASSERT_THAT(download<float>(y, 64), Each(1024.0f)) << threads << " threads, seed " << seed;
    }
}

TEST_F(HostDriverLaunchTest, ShufflesWholeStructs) {
  const HostKernel kernel{.entry = "exchange",
                          .text = R"(
struct Pair { double value; long long index; int more[4]; };
extern "C" __global__ void exchange(double* out) {
  Pair pair = {threadIdx.x * 0.5, threadIdx.x, {1, 2, 3, static_cast<int>(threadIdx.x)}};
  pair = warp_xor(pair, 1);
  out[threadIdx.x] = pair.value + pair.index + pair.more[3];
}
)",
                          .has_barrier = true};
  const CUdeviceptr out = allocate(64 * 8);
  ASSERT_EQ(launch(function(kernel), {.threads = 64}, out), CUDA_SUCCESS);
  const std::vector<double> results = download<double>(out, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(results[i], 2.5 * (i ^ 1));
}

TEST_F(HostDriverLaunchTest, LastBlockSeesAllStores) {
  const HostKernel kernel{.entry = "total",
                          .text = R"(
extern "C" __global__ void total(float* parts, unsigned* ticket, float* out) {
  if (threadIdx.x == 0) store_workspace(parts, blockIdx.x, 1.0f);
  if (!last_block(ticket, gridDim.x)) return;
  if (threadIdx.x != 0) return;
  float sum = 0.0f;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += load_workspace(parts, i);
  out[0] += sum;
}
)",
                          .has_barrier = true};
  const CUdeviceptr parts = allocate(4 * 500);
  const CUdeviceptr ticket = upload(std::vector<unsigned>{0}), out = upload(std::vector{0.0f});
  const CUfunction total = function(kernel);
  for (int run = 0; run < 3; ++run)
    ASSERT_EQ(launch(total, {.blocks = 500, .threads = 64}, parts, ticket, out), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(out, 1)[0], 1500.0f);
  EXPECT_EQ(download<unsigned>(ticket, 1)[0], 0u);
}

TEST_F(HostDriverLaunchTest, ReportsThreadsThatReturnBeforeABarrier) {
  const HostKernel kernel{.entry = "half",
                          .text = R"(
extern "C" __global__ void half() {
  if (threadIdx.x >= 40) return;
  block_barrier();
}
)",
                          .has_barrier = true};
  ASSERT_EQ(launch(function(kernel), {.threads = 96}), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(host::last_error(),
            "kernel half, block (0, 0, 0): barriers diverge: threads 0 to 39 wait at "
            "block_barrier(), threads 40 to 95 have returned");
}

TEST_F(HostDriverLaunchTest, ReportsLanesMissingAShuffle) {
  const HostKernel kernel{.entry = "mixed",
                          .text = R"(
extern "C" __global__ void mixed() {
  if (threadIdx.x < 8) block_barrier();
  else warp_xor(threadIdx.x, 1);
}
)",
                          .has_barrier = true};
  ASSERT_EQ(launch(function(kernel), {.threads = 32}), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("threads 0 to 7 wait at block_barrier(), threads 8 to "
                                            "31 wait at a shuffle"));
}

TEST_F(HostDriverLaunchTest, ReportsBarriersInKernelsCompiledWithoutBarriers) {
  const HostKernel kernel{.entry = "wrong", .text = R"(
extern "C" __global__ void wrong() { block_barrier(); }
)"};
  ASSERT_EQ(launch(function(kernel), {.threads = 32}), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("compiled as a kernel without barriers"));
}

TEST_F(HostDriverLaunchTest, WorksAfterADivergedBlock) {
  const HostKernel bad{.entry = "bad",
                       .text = R"(
extern "C" __global__ void bad(int n) { if (threadIdx.x < n) block_barrier(); }
)",
                       .has_barrier = true};
  const std::vector<float> values(1024, 1.0f);
  const CUdeviceptr x = upload(values), y = allocate(4);
  const CUfunction diverging = function(bad), sum = function(sum_kernel());
  ASSERT_EQ(launch(diverging, {.blocks = 50, .threads = 256}, 100), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  host::clear_error();

  ASSERT_EQ(launch(sum, {.threads = 256, .shared_bytes = 32}, x, y, 1024), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 1)[0], 1024.0f);
}

TEST_F(HostDriverLaunchTest, RejectsShapesThatAGpuRejects) {
  const CUfunction kernel = function({.entry = "none",
                                      .text = R"(
extern "C" __global__ void none() {}
)",
                                      .threads = 128});
  EXPECT_EQ(launch(kernel, {.blocks = 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(kernel, {.threads = 2048}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(kernel, {.threads = 256}), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_THAT(host::last_error(), HasSubstr("block [256, 1, 1], built for at most 128 threads"));
  EXPECT_EQ(launch(kernel, {.shared_bytes = 50000}), CUDA_ERROR_INVALID_VALUE);

  ASSERT_EQ(
      driver.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448),
      CUDA_SUCCESS);
  EXPECT_EQ(launch(kernel, {.shared_bytes = 232448}), CUDA_SUCCESS);
  EXPECT_EQ(
      driver.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449),
      CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostDriverLaunchTest, ReadsParametersAtLaunchTime) {
  const CUfunction kernel = function({.entry = "keep", .text = R"(
struct Many { double a; char b; float c[5]; };
extern "C" __global__ void keep(double* out, const char first, const Many many, const bool last) {
  out[0] = first + many.a + many.b + many.c[4] + last;
}
)"});
  struct Many {
    double a;
    char b;
    float c[5];
  } many{0.5, 2, {0, 0, 0, 0, 8}};
  CUdeviceptr out = allocate(8);
  char first = 16;
  bool last = true;
  void* parameters[] = {&out, &first, &many, &last};
  const CUlaunchConfig config{
      .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
  ASSERT_EQ(driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr), CUDA_SUCCESS);
  many = {};
  first = 0;
  last = false;
  EXPECT_EQ(download<double>(out, 1)[0], 27.5);
}

}  // namespace
}  // namespace sinter::host_driver_launch_test
