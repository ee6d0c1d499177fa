// Faults of kernels of the host device: accesses, stack overflows and divisions by zero.
#include "tests/host/driver/host_driver_fixture.h"

#include <csignal>
#include <thread>

#include <gmock/gmock.h>

namespace sinter::host_driver_fault_test {
namespace {

using ::testing::HasSubstr;

class HostDriverFaultTest : public HostDriverTest {};

TEST_F(HostDriverFaultTest, SurvivesManyFaultingThreads) {
  const CUfunction kernel = function({.entry = "wild",
                                      .text = R"(
extern "C" __global__ void wild(float* x) {
  block_barrier();
  x[(blockIdx.x + 1) * 1000000ll + threadIdx.x] = 1.0f;
  block_barrier();
}
)",
                                      .has_barrier = true});
  const CUdeviceptr pointer = allocate(64);
  for (int run = 0; run < 20; ++run) {
    ASSERT_EQ(launch(kernel, {.blocks = 64, .threads = 256}, pointer), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    host::clear_error();
  }
}

TEST_F(HostDriverFaultTest, ReportsStackOverflows) {
  const CUfunction kernel = function({.entry = "deep", .text = R"(
extern "C" __global__ void deep(float* x, const int n) {
  volatile float big[1100000];  // the first stack of a block has 4 MiB
  for (int i = 0; i < n; ++i) big[i] = i;
  x[0] = big[n - 1];
}
)"});
  ASSERT_EQ(launch(kernel, {}, allocate(4), 1100000), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("kernel deep, block (0, 0, 0), thread (0, 0, 0): "
                                            "needs more than 4096 KiB of stack"));
}

/// The only element that the kernel writes is far below the guard page of its stack, in memory of
/// other code.
TEST_F(HostDriverFaultTest, LargeFramesDoNotSkipTheGuardPage) {
  const CUfunction kernel = function({.entry = "skip", .text = R"(
extern "C" __global__ void skip(float* x, const int at) {
  volatile float big[1100000];
  big[at] = 1.0f;
  x[0] = big[at];
}
)"});
  ASSERT_EQ(launch(kernel, {}, allocate(4), 100), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("needs more than 4096 KiB of stack"));
}

/// The stacks of a block's threads are neighbours, each with a guard page.
TEST_F(HostDriverFaultTest, LargeFramesDoNotReachTheStackOfAnotherThread) {
  const CUfunction kernel = function({.entry = "neighbour",
                                      .text = R"(
extern "C" __global__ void neighbour(float* x, const int at) {
  block_barrier();
  if (threadIdx.x == 3) {
    volatile float big[20000];  // 78 KiB; the stacks of all threads but the first have 64 KiB
    big[at] = 1.0f;
    x[0] = big[at];
  }
  block_barrier();
}
)",
                                      .has_barrier = true});
  ASSERT_EQ(launch(kernel, {.threads = 8}, allocate(4), 100), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("needs more than 64 KiB of stack"));
}

constexpr stack_t kNoStack{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};

/// Reports the signal stack that a thread has at its end, when later objects of it are destroyed.
/// The address sanitizer would then unmap that stack.
struct SignalStackAtEnd {
  stack_t* result = nullptr;
  ~SignalStackAtEnd() {
    if (result) sigaltstack(&kNoStack, result);
  }
};

/// A thread that runs kernels has a signal stack of the host device, unless it has another one.
TEST_F(HostDriverFaultTest, KeepsSignalStacksOfOtherCode) {
  const CUfunction kernel = function({.entry = "one", .text = R"(
extern "C" __global__ void one(float* x) { x[0] = 1.0f; }
)"});
  CUcontext context = nullptr;
  ASSERT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
  std::vector<std::byte> memory(256 << 10);
  const stack_t own{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  for (const bool is_installed_first : {true, false}) {
    stack_t at_end{};
    std::thread([&] {
      thread_local SignalStackAtEnd stack_at_end;
      stack_at_end.result = &at_end;
      check(driver, driver.cuCtxSetCurrent(context), "cuCtxSetCurrent", "a test");
      sigaltstack(is_installed_first ? &own : &kNoStack, nullptr);
      EXPECT_EQ(launch(kernel, {}, allocate(4)), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
      if (!is_installed_first) sigaltstack(&own, nullptr);
    }).join();
    EXPECT_EQ(at_end.ss_sp, own.ss_sp);
  }
}

TEST_F(HostDriverFaultTest, ReportsDivisionsByZero) {
  const CUfunction kernel = function({.entry = "divide", .text = R"(
extern "C" __global__ void divide(int* x, const int by) { x[0] = 7 / by; }
)"});
  ASSERT_EQ(launch(kernel, {}, allocate(4), 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(host::last_error(), HasSubstr("kernel divide"));
  EXPECT_THAT(host::last_error(), HasSubstr("divides an integer by zero"));
}

}  // namespace
}  // namespace sinter::host_driver_fault_test
