// Golden texts of kernels with schedules for CPUs.
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "sinter/text.h"
#include "tests/support/files/golden.h"

namespace sinter::test::cpu_kernels_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/cpu";

class CpuKernelTexts : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(CpuKernelTexts, HaveTheirGoldenText) {
  const GoldenProgram golden = plan_golden(GetParam(), {}, "cpu");
  std::string text;
  for (const Kernel& kernel : golden.program.kernels)
    text += emit(golden.program, kernel, kernel.schedule, kernel.name).text + "\n";
  expect_golden(std::filesystem::path(GetParam()).replace_extension(".cu"), text);
}

/// The columns of an array of `rows` rows, 4 KiB each.
std::string source_of_column_sum(std::int64_t rows) {
  const Graph graph = parse(fmt::format(
      "graph g(x: f32[{}, 1024]) {{\n  s = sum x {{axes = [0]}}\n  return s\n}}\n", rows));
  const Program program = plan(graph, cpu_target(), {});
  const Kernel& kernel = program.kernels.at(0);
  return emit(program, kernel, kernel.schedule, kernel.name).text;
}

TEST(CpuKernels, PrefetchArraysOfMoreThanEightMiB) {
  EXPECT_EQ(source_of_column_sum(2048).find("prefetch<"), std::string::npos);
  EXPECT_NE(source_of_column_sum(2049).find("prefetch<"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Golden, CpuKernelTexts, testing::ValuesIn(golden_graphs(kFolder)),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace sinter::test::cpu_kernels_test
