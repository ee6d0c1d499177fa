// Kernels with asynchronous copies whose text lacks one of the statements that order the copies. A
// check of the virtual GPU catches each of them.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "sinter/text.h"
#include "tests/support/graphs/copied_graphs.h"
#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::missing_waits_test {
namespace {

constexpr std::int64_t kElements = 102400;

/// A kernel that fills its stages several times with copies of one kind.
Source kernel_with(Copies copies) {
  const Graph graph = parse(fmt::format(R"(
graph scaled(x: f32[{}]) {{
  y = mul x, 0.5
  return y
}})",
                                        kElements));
  const sinter::Program program = plan(graph, test::with_few_sms("sm_90"), {}, {});
  const sinter::Kernel& kernel = program.kernels.at(0);
  for (const sinter::Schedule& schedule : kernel.candidates)
    if (schedule.copies == copies && schedule.unroll > schedule.stages)
      return emit(program, kernel, schedule, "scaled");
  throw std::logic_error("there is no such candidate");
}

/// Removes the last occurrence of `statement` from the text of the kernel.
Source without(Source source, const std::string& statement) {
  const std::size_t at = source.text.rfind(statement);
  if (at == std::string::npos) throw std::logic_error("the kernel has no " + statement);
  source.text.erase(at, statement.size());
  return source;
}

/// Launches the kernel, and returns the code of the wait for it.
CUresult run(const Source& source, const char* schedule) {
  const driver::VirtualDriver driver(
      {{"VIRTUAL_GPUS", "sm_90 sms=1"}, {"VIRTUAL_GPU_SCHEDULE", schedule}});
  driver.use();
  const NvrtcUnit unit = compile_unit({&source, 1}, "sm_90");
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(driver->cuModuleLoadData(&module, unit.ptx.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuModuleGetFunction(&function, module, "scaled"), CUDA_SUCCESS);
  CUdeviceptr x = driver.memory(4 * kElements);
  CUdeviceptr y = driver.memory(4 * kElements);
  const CUstream stream = driver.stream();
  EXPECT_EQ(driver->cuMemsetD32Async(x, 0x40000000, kElements, stream), CUDA_SUCCESS);  // 2.0f
  void* parameters[] = {&x, &y};
  const CUlaunchConfig config = {.gridDimX = static_cast<unsigned>(source.grid.number()),
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = static_cast<unsigned>(source.threads),
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .sharedMemBytes = static_cast<unsigned>(source.shared_bytes),
                                 .hStream = stream,
                                 .attrs = nullptr,
                                 .numAttrs = 0};
  EXPECT_EQ(driver->cuLaunchKernelEx(&config, function, parameters, nullptr), CUDA_SUCCESS);
  const CUresult result = driver->cuStreamSynchronize(stream);
  if (result == CUDA_SUCCESS) {
    EXPECT_EQ(driver.words(y, kElements), std::vector<unsigned>(kElements, 0x3f800000));  // 1.0f
  }
  return result;
}

void expect_caught(Copies copies, const std::string& statement) {
  SCOPED_TRACE(statement);
  const Source source = without(kernel_with(copies), statement);
  EXPECT_NE(run(source, "fair"), CUDA_SUCCESS) << source.text;
}

class MissingWaits : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

TEST_F(MissingWaits, UnchangedKernelsAreCorrect) {
  for (const Copies copies : {Copies::thread, Copies::bulk})
    for (const char* const schedule : driver::kSchedules)
      EXPECT_EQ(run(kernel_with(copies), schedule), CUDA_SUCCESS) << schedule;
}

TEST_F(MissingWaits, OfBulkCopiesAreCaught) {
  for (const char* const statement : {"copies.await(u);", "copies.release();"})
    expect_caught(Copies::bulk, statement);
}

TEST_F(MissingWaits, OfThreadCopiesAreCaught) {
  for (const char* const statement : {"copies.await();", "copies.commit();"})
    expect_caught(Copies::thread, statement);
}

}  // namespace
}  // namespace sinter::virtual_gpu::missing_waits_test
