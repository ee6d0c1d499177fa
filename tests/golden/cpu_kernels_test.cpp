// Golden texts of kernels with schedules for CPUs.
#include <gtest/gtest.h>

#include <filesystem>

#include "codegen/emit.h"
#include "tests/support/files/golden.h"

namespace sinter::test::cpu_kernels_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/cpu";

class CpuKernels : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(CpuKernels, HaveTheirGoldenText) {
  const GoldenProgram golden = plan_golden(GetParam(), {}, "cpu");
  std::string text;
  for (const Kernel& kernel : golden.program.kernels)
    text += emit(golden.program, kernel, kernel.schedule, kernel.name).text + "\n";
  expect_golden(std::filesystem::path(GetParam()).replace_extension(".cu"), text);
}

INSTANTIATE_TEST_SUITE_P(Golden, CpuKernels, testing::ValuesIn(golden_graphs(kFolder)),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace sinter::test::cpu_kernels_test
