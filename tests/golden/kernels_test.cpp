// Golden texts of compiled graphs: boundaries with reasons, guards, and the source of each kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "compiler/program/guards.h"
#include "sinter/text.h"
#include "tests/support/files/golden.h"

namespace sinter::test::kernels_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/kernels";

std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("//")) result += line + "\n";
  return result;
}

class Kernels : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Kernels, CompileToTheirGoldenText) {
  const GoldenProgram golden = plan_golden(GetParam());
  const Program& program = golden.program;
  std::string text;
  for (const Boundary& boundary : program.boundaries)
    text += fmt::format("// {} | {}: {}\n", boundary.producer, boundary.consumer, boundary.reason);
  for (const Guard& guard : program.guards) text += fmt::format("// guard: {}\n", to_string(guard));
  for (const Kernel& kernel : program.kernels) {
    const Source source = emit(program, kernel, kernel.schedule, kernel.name);
    text += "\n" + source.text;
    text += fmt::format("// grid {}, shared {}, reads {}, writes {}\n", to_string(source.grid),
                        source.shared_bytes, to_string(source.traffic.bytes_read),
                        to_string(source.traffic.bytes_written));
  }
  expect_golden(std::filesystem::path(GetParam()).replace_extension(".cu"), text);
}

TEST_P(Kernels, EmitTheSameTextTwice) {
  const GoldenProgram first = plan_golden(GetParam());
  const GoldenProgram second = plan_golden(GetParam());
  ASSERT_EQ(first.program.kernels.size(), second.program.kernels.size());
  for (std::size_t i = 0; i < first.program.kernels.size(); ++i) {
    const Kernel& a = first.program.kernels[i];
    const Kernel& b = second.program.kernels[i];
    ASSERT_EQ(a.candidates, b.candidates);
    EXPECT_LE(a.candidates.size(), 12u);
    for (const Schedule& schedule : a.candidates)
      EXPECT_EQ(emit(first.program, a, schedule, a.name).text,
                emit(second.program, b, schedule, b.name).text);
  }
}

/// The anonymous text has no name of the user, and differs if the code differs.
TEST_P(Kernels, AnonymousTextsAreEqualForEqualCode) {
  const GoldenProgram golden = plan_golden(GetParam());
  const GoldenProgram renamed = plan_renamed(GetParam(), "zebra_");
  ASSERT_EQ(golden.program.kernels.size(), renamed.program.kernels.size());
  for (std::size_t i = 0; i < golden.program.kernels.size(); ++i) {
    const Kernel& a = golden.program.kernels[i];
    const Kernel& b = renamed.program.kernels[i];
    std::set<std::string> codes;
    for (const Schedule& schedule : a.candidates) {
      const std::string code = anonymous_text(golden.program, a, schedule);
      EXPECT_EQ(code, anonymous_text(renamed.program, b, schedule));
      EXPECT_EQ(code.find("zebra_"), std::string::npos);
      EXPECT_NE(emit(renamed.program, b, schedule, "entry").text.find("zebra_"), std::string::npos);
      codes.insert(code);
    }
    std::set<std::string> texts;
    for (const Schedule& schedule : a.candidates)
      texts.insert(without_comments(emit(golden.program, a, schedule, "entry").text));
    EXPECT_EQ(codes.size(), texts.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Kernels, testing::ValuesIn(golden_graphs(kFolder)),
                         [](const auto& test) { return test.param.stem().string(); });

/// No buffer is large, but the iteration space of the kernel is.
TEST(KernelText, CountsBroadcastPositionsIn64Bits) {
  const Graph graph = parse(R"(
graph outer(a: f32[65536, 1], b: f32[1, 65536]) {
  p = mul a, b
  f = reshape p {shape = [4294967296]}
  s = sum f {axes = [0]}
  return s
})",
                            "outer.sinter");
  const Program program = plan(graph, *find_target("sm_90"), {}, {});
  ASSERT_EQ(program.kernels.size(), 1U);
  const Kernel& kernel = program.kernels[0];
  EXPECT_THAT(emit(program, kernel, kernel.schedule, "outer").text,
              testing::HasSubstr("const long long column = "));
}

}  // namespace
}  // namespace sinter::test::kernels_test
