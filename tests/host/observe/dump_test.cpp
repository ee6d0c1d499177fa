// Options::dump writes the result of each stage, in pipeline order.
#include "runtime/logging/dump.h"

#include "runtime/compile/nvrtc_units.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/read_text.h"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sinter::dump_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Uses a new, empty folder.
class DumpTest : public ::testing::Test {
 protected:
  DumpTest()
      : folder_(fs::path(::testing::TempDir()) / ("sinter-dump-test-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~DumpTest() override { fs::remove_all(folder_); }

  void compile_with(std::vector<std::string> stages, bool also_nvrtc = false) const {
    Graph graph("affine");
    const Tensor x = graph.input("x", f32, {64});
    graph.output("y", exp(x * 2.0 + 1.0));
    compile(graph, host_device(),
            {.tune = Tune::off,
             .dump = std::move(stages),
             .dump_directory = folder_.string(),
             .also_nvrtc = also_nvrtc});
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  std::string text(std::string_view name) const { return test::read_text(folder_ / name); }

  fs::path folder_;
};

TEST_F(DumpTest, WritesTheStagesInOrder) {
  compile_with({"launch", "graph", "fuse", "schedule"});
  EXPECT_THAT(files(), ElementsAre("0001_graph.sinter", "0002_fuse.txt", "0003_schedule.txt",
                                   "0004_launch.txt"));
  EXPECT_THAT(text("0001_graph.sinter"), StartsWith("graph affine(x: f32[64]) {\n"));
  EXPECT_THAT(text("0002_fuse.txt"), StartsWith("program affine: 1 kernel of 3 recorded ops\n"));
  EXPECT_THAT(text("0004_launch.txt"), HasSubstr(": 1 blocks of "));
}

TEST_F(DumpTest, WritesTheSourceOfEveryCandidate) {
  compile_with({"source"});
  ASSERT_FALSE(files().empty());
  for (const std::string& file : files()) {
    EXPECT_THAT(file, HasSubstr("_source.cu"));
    EXPECT_THAT(text(file), StartsWith("// sinter kernel affine_"));
  }
}

TEST_F(DumpTest, ContinuesExistingNumbers) {
  compile_with({"graph"});
  compile_with({"graph"});
  EXPECT_THAT(files(), ElementsAre("0001_graph.sinter", "0002_graph.sinter"));
}

TEST_F(DumpTest, WritesPtxAndCubinIfNvrtcCompiled) {
  if (const std::string reason = nvrtc_problem(); !reason.empty()) GTEST_SKIP() << reason;
  compile_with({"ptx", "cubin"}, /*also_nvrtc=*/true);
  EXPECT_THAT(files(), ElementsAre("0001_ptx.ptx", "0002_cubin.cubin"));
  EXPECT_THAT(text("0001_ptx.ptx"), HasSubstr(".target sm_90"));
  EXPECT_THAT(text("0002_cubin.cubin"), StartsWith("\x7f"
                                                   "ELF"));
}

TEST_F(DumpTest, RejectsUnknownStages) {
  EXPECT_THAT(test::error_of([&] { compile_with({"fusion"}); }),
              StartsWith("dump: there is no stage fusion; the stages are all, graph, "));
}

}  // namespace
}  // namespace sinter::dump_test
