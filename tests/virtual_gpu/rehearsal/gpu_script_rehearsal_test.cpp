// bench/gpu.sh from a bundle, every part, at tiny sizes, on the virtual GPU: no script meets a GPU
// for the first time. A script replaces compute-sanitizer. It runs the program that it is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "runtime/support/process.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/virtual_gpu/rehearsal/on_virtual_gpu.h"

namespace sinter::virtual_gpu::gpu_script_rehearsal_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class GpuScriptRehearsal : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* const program : {"measure_gpu", "plan_bench", "sinter_gpu_tests"})
      if (const std::string why = no_programs(program); !why.empty()) GTEST_SKIP() << why;
    if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  test::CommandResult gather() const {
    const std::string build = test::command_path().parent_path().parent_path();
    return run_on_virtual_gpu("bash '" SINTER_SOURCE_DIR "/tools/bundle' '" + path("bundle") +
                              "' --from '" + build + "'");
  }
  /// Runs the script of the bundle, whose programs alone are found.
  test::CommandResult run_script(const std::string& words,
                                 const std::string& variables = {}) const {
    return run_on_virtual_gpu("cd /\nunset SINTER_BIN CUDA_HOME\nbash '" + path("bundle") +
                                  "/bench/gpu.sh' '" + path("out") + "' " + words,
                              variables);
  }

 private:
  test::ScratchFolder folder_;
};

/// A suite of its own, because default test runs have no time for it.
class GpuScriptParts : public GpuScriptRehearsal {};

TEST_F(GpuScriptParts, AllRun) {
  const test::CommandResult gathered = gather();
  ASSERT_EQ(gathered.exit_code, 0) << gathered.output;
  const std::filesystem::path sanitizer = path("sanitizer/compute-sanitizer");
  std::filesystem::create_directory(sanitizer.parent_path());
  std::ofstream(sanitizer) << "#!/bin/sh\n"
                              "[ \"$1 $3 $4\" = '--tool --error-exitcode 99' ] || exit 98\n"
                              "shift 4\nexec \"$@\"\n";
  std::filesystem::permissions(sanitizer, std::filesystem::perms::owner_all);
  const test::CommandResult result = run_script(
      "--only tests sanitizer bench peers host static constants approximations --rehearse "
      "--seconds 1200",
      "PATH='" + sanitizer.parent_path().string() + "':\"$PATH\"");
  const json results = json::parse(std::ifstream(path("out/results.json")));
  EXPECT_EQ(results["virtual"], true);
  EXPECT_EQ(results["gpu"], "virtual GPU H200 (sm_90)");
  EXPECT_EQ(results["gpu_problem"], "");
  EXPECT_TRUE(results["host"].empty()) << "times of a rehearsal";
  std::map<std::string, json> exits;
  for (const json& step : results["steps"]) exits[step["name"]] = step["exit"];
  for (const char* const step :
       {"gpu_tests", "bench", "memcheck_tests", "memcheck_suite", "racecheck_tests",
        "racecheck_suite", "initcheck_tests", "initcheck_suite", "record_bench", "launch_bench",
        "plan_bench", "compile_bench", "static", "constants", "approximations"})
    EXPECT_EQ(exits[step], 0) << step << "\n" << result.output;
  EXPECT_GE(results["gpu_tests"]["passed"], 9);
  json own;
  for (const json& one : results["results"])
    if (one["system"] == "sinter") own = one;
  ASSERT_TRUE(own.is_object());
  EXPECT_EQ(own["virtual"], true);
  EXPECT_FALSE(own["rows"].empty());
  for (const json& row : own["rows"]) {
    EXPECT_EQ(row["status"], "ok") << row;
    for (const char* const time : {"us", "copy_us", "memcpy_us", "read_us", "asynchronous_us",
                                   "tb_per_s", "of_copy", "of_read"})
      EXPECT_TRUE(row[time].is_null()) << row;
  }
  const std::string report = test::read_text(path("out/report.md"));
  EXPECT_THAT(report,
              HasSubstr("**A rehearsal on a virtual GPU: nothing here is a measurement.**"));
  EXPECT_EQ(json::parse(std::ifstream(path("out/target.json")))["virtual"], true);
  EXPECT_EQ(json::parse(std::ifstream(path("out/approximations.json")))["virtual"], true);
}

TEST_F(GpuScriptRehearsal, MissingToolsAreNamed) {
  ASSERT_EQ(gather().exit_code, 0);
  if (!find_program("compute-sanitizer").empty()) GTEST_SKIP() << "there is a compute-sanitizer";
  const test::CommandResult result =
      run_script("--only sanitizer peers:torch_eager --rehearse --seconds 30");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("gpu: missing: sanitizer: compute-sanitizer was not found\n"));
  // With torch, the peer itself says that the virtual GPU has no times.
  EXPECT_THAT(result.output, testing::AnyOf(HasSubstr("gpu: missing: torch_eager: "),
                                            HasSubstr("torch_eager is missing: virtual GPU")));
}

TEST_F(GpuScriptRehearsal, OnlyARehearsalUsesAVirtualGpu) {
  ASSERT_EQ(gather().exit_code, 0);
  const test::CommandResult refused = run_script("--only bench");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(refused.output,
            "gpu: virtual GPU H200 (sm_90) interprets kernels, so its times mean nothing; "
            "--rehearse runs every part on it and records none\n");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  const test::CommandResult no_gpu = run_script("--only bench --rehearse", "LD_LIBRARY_PATH=");
  EXPECT_EQ(no_gpu.exit_code, 2);
  EXPECT_THAT(no_gpu.output,
              HasSubstr("gpu: --rehearse is for the virtual GPU, but the first GPU"));
}

TEST_F(GpuScriptRehearsal, AnIncompleteBuildIsNoBundle) {
  const test::CommandResult result =
      run_on_virtual_gpu("bash '" SINTER_SOURCE_DIR "/tools/bundle' '" + path("bundle") +
                         "' --from '" + path("nothing") + "'");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("/nothing/bin has no program sinter; build it, or omit "));
}

}  // namespace
}  // namespace sinter::virtual_gpu::gpu_script_rehearsal_test
