// Golden texts of the candidates that copy their operands to shared memory.
#include <gtest/gtest.h>

#include <filesystem>

#include "codegen/emit.h"
#include "tests/support/files/golden.h"

namespace sinter::test::copied_kernels_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/copies";

class CopiedKernels : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(CopiedKernels, HaveTheirGoldenText) {
  const GoldenProgram golden = plan_golden(GetParam());
  ASSERT_EQ(golden.program.kernels.size(), 1U);
  const Kernel& kernel = golden.program.kernels[0];
  std::string text;
  for (const Schedule& schedule : kernel.candidates)
    if (schedule.copies != Copies::none)
      text += emit(golden.program, kernel, schedule, kernel.name).text + "\n";
  EXPECT_NE(text.find("BulkCopies<"), text.npos);
  EXPECT_NE(text.find("ThreadCopies<"), text.npos);
  expect_golden(std::filesystem::path(GetParam()).replace_extension(".cu"), text);
}

INSTANTIATE_TEST_SUITE_P(Golden, CopiedKernels, testing::ValuesIn(golden_graphs(kFolder)),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace sinter::test::copied_kernels_test
