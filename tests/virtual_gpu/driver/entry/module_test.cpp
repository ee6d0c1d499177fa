// Modules, functions and launches of a small kernel.
#include <fstream>

#include <gmock/gmock.h>

#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::driver::module_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One block of up to 64 threads stores a word per thread; `store_once` stores one.
constexpr const char* kPtx = R"(
.version 8.0
.target sm_75
.address_size 64

.visible .entry store(.param .u64 to, .param .u32 value)
.maxntid 64, 1, 1
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r1;
  ret;
}
)";

class VirtualModuleTest : public testing::Test {
 protected:
  VirtualModuleTest() {
    driver.use();
    EXPECT_EQ(driver->cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
  }

  struct Shape {
    unsigned grid = 1;
    unsigned threads = 16;
    unsigned shared = 0;
    std::vector<CUlaunchAttribute> attributes = {};
    CUstream stream = nullptr;
  };

  CUresult launch(const Shape& shape, CUdeviceptr to, unsigned value) const {
    std::vector<CUlaunchAttribute> attributes = shape.attributes;
    const CUlaunchConfig config = {.gridDimX = shape.grid,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = shape.threads,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = shape.shared,
                                   .hStream = shape.stream,
                                   .attrs = attributes.data(),
                                   .numAttrs = static_cast<unsigned>(attributes.size())};
    void* parameters[] = {&to, &value};
    return driver->cuLaunchKernelEx(&config, function, parameters, nullptr);
  }

  static CUlaunchAttribute cluster(unsigned blocks) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {.x = blocks, .y = 1, .z = 1};
    return attribute;
  }
  static CUlaunchAttribute flag(CUlaunchAttributeID id) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    attribute.value.cooperative = 1;
    return attribute;
  }
  CUDA_KERNEL_NODE_PARAMS node(void** parameters, unsigned threads) const {
    return {.func = function,
            .gridDimX = 1,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = threads,
            .blockDimY = 1,
            .blockDimZ = 1,
            .sharedMemBytes = 0,
            .kernelParams = parameters,
            .extra = nullptr,
            .kern = nullptr,
            .ctx = nullptr};
  }

  VirtualDriver driver{{"VIRTUAL_GPUS", "sm_90 sms=2, sm_80 sms=2"}};
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

TEST_F(VirtualModuleTest, RunsAKernel) {
  const CUdeviceptr a = driver.memory(64);
  EXPECT_EQ(launch({}, a, 42), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 16), Each(42));
}

TEST_F(VirtualModuleTest, DescribesFunctions) {
  const auto attribute = [&](int which) {
    int value = -1;
    EXPECT_EQ(
        driver->cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(which), function),
        CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(attribute(0), 64);
  EXPECT_EQ(attribute(1), 0);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
  EXPECT_GE(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), 16);
  EXPECT_EQ(attribute(5), 80);
  EXPECT_EQ(attribute(6), 90);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152);
  std::size_t offset = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(driver->cuFuncGetParamInfo(function, 1, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8);
  EXPECT_EQ(bytes, 4);
  EXPECT_EQ(driver->cuFuncGetParamInfo(function, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_EQ(driver->cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(99), function),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualModuleTest, ChecksModules) {
  CUmodule other = nullptr;
  CUfunction found = nullptr;
  EXPECT_EQ(driver->cuModuleLoadData(&other, "\177ELF\2\1\1"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(driver->cuModuleLoadData(&other, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuModuleLoadData(&other, ".version 8.0\n.target sm_75\n.nonsense\n"),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(driver->cuModuleGetFunction(&found, module, "missing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver->cuModuleGetFunction(&found, nullptr, "store"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch({}, driver.memory(64), 1), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(VirtualModuleTest, ChecksSizesOfLaunches) {
  const CUdeviceptr a = driver.memory(4096);
  EXPECT_EQ(launch({.grid = 0}, a, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch({.grid = 0x80000000U}, a, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch({.threads = 0}, a, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch({.threads = 65}, a, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch({.threads = 1025}, a, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch({.shared = 49153}, a, 1), CUDA_ERROR_INVALID_VALUE);
  const auto set = [&](int bytes) {
    return driver->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      bytes);
  };
  EXPECT_EQ(set(232449), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(232448), CUDA_SUCCESS);
  EXPECT_EQ(launch({.shared = 232448}, a, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 3),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(VirtualModuleTest, ChecksClusters) {
  const CUdeviceptr a = driver.memory(64);
  EXPECT_EQ(launch({.grid = 3, .attributes = {cluster(2)}}, a, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch({.grid = 2, .attributes = {cluster(0)}}, a, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch({.grid = 16, .attributes = {cluster(16)}}, a, 1),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch({.attributes = {flag(static_cast<CUlaunchAttributeID>(77))}}, a, 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualModuleTest, ChecksCooperativeGrids) {
  int blocks = 0;
  EXPECT_EQ(driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 64, 0),
            CUDA_SUCCESS);
  ASSERT_GT(blocks, 0);
  const auto resident = static_cast<unsigned>(2 * blocks);
  EXPECT_EQ(launch({.grid = resident + 1,
                    .threads = 64,
                    .attributes = {flag(CU_LAUNCH_ATTRIBUTE_COOPERATIVE)}},
                   driver.memory(256), 1),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 64, 1 << 20),
            CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualModuleTest, ChecksParameters) {
  const CUdeviceptr a = driver.memory(64);
  const CUlaunchConfig config = {.gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 16,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .sharedMemBytes = 0,
                                 .hStream = nullptr,
                                 .attrs = nullptr,
                                 .numAttrs = 0};
  struct {
    CUdeviceptr to;
    unsigned value;
  } buffer = {.to = a, .value = 9};
  std::size_t bytes = 12;
  void* extra[] = {reinterpret_cast<void*>(1), &buffer, reinterpret_cast<void*>(2), &bytes,
                   nullptr};
  EXPECT_EQ(driver->cuLaunchKernelEx(&config, function, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuLaunchKernelEx(&config, function, extra, extra), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuLaunchKernelEx(&config, nullptr, nullptr, extra), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver->cuLaunchKernelEx(&config, function, nullptr, extra), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 16), Each(9));
}

TEST_F(VirtualModuleTest, ContextsDoNotMix) {
  const CUdeviceptr a = driver.memory(64);
  const CUstream first = driver.stream();
  driver.use(1);
  EXPECT_EQ(launch({}, a, 1), CUDA_ERROR_INVALID_HANDLE);
  CUmodule other = nullptr;
  EXPECT_EQ(driver->cuModuleLoadData(&other, kPtx), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuModuleGetFunction(&function, other, "store"), CUDA_SUCCESS);
  EXPECT_EQ(launch({.stream = first}, a, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch({.grid = 2, .attributes = {cluster(2)}}, a, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(
      launch({.attributes = {flag(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)}}, a, 1),
      CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(VirtualModuleTest, GraphsUpdateKernels) {
  CUdeviceptr a = driver.memory(64);
  unsigned value = 5;
  void* parameters[] = {&a, &value};
  CUDA_KERNEL_NODE_PARAMS kernel = node(parameters, 16);
  CUgraph graph = nullptr;
  CUgraphNode added = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver->cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphAddKernelNode(&added, graph, nullptr, 0, &kernel), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  value = 6;
  kernel.blockDimX = 8;
  EXPECT_EQ(driver->cuGraphExecKernelNodeSetParams(exec, added, &kernel), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  EXPECT_THAT(driver.words(a, 16), ElementsAre(6, 6, 6, 6, 6, 6, 6, 6, 5, 5, 5, 5, 5, 5, 5, 5));
  kernel.blockDimX = 65;
  EXPECT_EQ(driver->cuGraphExecKernelNodeSetParams(exec, added, &kernel), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver->cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(VirtualModuleTest, AStrayStoreFailsTheContext) {
  const CUdeviceptr a = driver.memory(32);
  EXPECT_EQ(launch({}, a, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(driver.find<const char*()>("virtualGpuLastViolation")(), HasSubstr("store"));
  CUdeviceptr pointer = 0;
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(launch({}, a, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext current = nullptr;
  EXPECT_EQ(driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
  driver.use(1);
  EXPECT_EQ(driver->cuMemAlloc(&pointer, 8), CUDA_SUCCESS);
}

TEST_F(VirtualModuleTest, AMisalignedStoreFailsTheContext) {
  const CUdeviceptr a = driver.memory(128);
  EXPECT_EQ(launch({}, a + 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST_F(VirtualModuleTest, WritesCounts) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("counts_" + std::to_string(getpid()) + ".jsonl");
  driver = VirtualDriver({{"VIRTUAL_GPU_COUNTS", path.c_str()}});
  driver.use();
  EXPECT_EQ(driver->cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
  const CUdeviceptr a = driver.memory(64);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(launch({}, a, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_SUCCESS);
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    ++lines;
    EXPECT_THAT(line, HasSubstr("\"kernel\":\"store\",\"device\":0,\"blocks\":1"));
  }
  EXPECT_EQ(lines, 2);
  std::filesystem::remove(path);
}

TEST_F(VirtualModuleTest, KernelsOnTwoStreamsRace) {
  const CUdeviceptr a = driver.memory(64);
  EXPECT_EQ(launch({.stream = driver.stream()}, a, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch({.stream = driver.stream()}, a, 2), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(VirtualModuleTest, ProgrammaticLaunchesOverlapWithTheirPredecessor) {
  const CUdeviceptr a = driver.memory(64);
  const CUstream stream = driver.stream();
  const CUlaunchAttribute early = flag(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(launch({.stream = stream}, a, 1), CUDA_SUCCESS);
  // The kernel has no `griddepcontrol.wait`, so nothing orders the two.
  EXPECT_EQ(launch({.attributes = {early}, .stream = stream}, a, 2), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::module_test
