// Programs that record times refuse the virtual GPU. In a rehearsal they do all work, and record
// that they have no times.
#include "runtime/observe/device_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include "runtime/support/process.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/virtual_gpu/rehearsal/on_virtual_gpu.h"

namespace sinter::virtual_gpu::device_times_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kRefusal =
    ": virtual GPU H200 (sm_90) interprets kernels, so its times mean nothing; measure on a real "
    "GPU, or set SINTER_REHEARSE=on to run everything and record no time";

class DeviceTimes : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_programs("suite_bench"); !why.empty()) GTEST_SKIP() << why;
    std::ofstream(path("add.sinter"))
        << "graph add(x: f32[100]) {\n  y = add x, 1.0\n  return y\n}\n";
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  test::ScratchFolder folder_;
};

TEST_F(DeviceTimes, AreRefused) {
  for (const std::string command : {"bench", "profile", "tune", "explain --measure"}) {
    const test::CommandResult result =
        run_on_virtual_gpu("sinter " + command + " '" + path("add.sinter") + "' --device cuda");
    EXPECT_NE(result.exit_code, 0) << command;
    EXPECT_THAT(result.output, HasSubstr(command + kRefusal)) << command;
  }
  const test::CommandResult suite =
      run_on_virtual_gpu("suite_bench --suite '" SINTER_SOURCE_DIR
                         "/bench/suite/suite.json' --tier tiny --only add_f32 --json '" +
                         path("suite.json") + "'");
  EXPECT_EQ(suite.exit_code, 1);
  EXPECT_THAT(suite.output, HasSubstr("suite_bench" + kRefusal));
  EXPECT_FALSE(std::filesystem::exists(path("suite.json")));
}

TEST_F(DeviceTimes, AreNotRecordedInARehearsal) {
  for (const std::string command : {"bench", "profile", "tune"}) {
    const test::CommandResult result = run_on_virtual_gpu(
        "sinter " + command + " '" + path("add.sinter") + "' --device cuda", "SINTER_REHEARSE=on");
    EXPECT_EQ(result.exit_code, 0) << command << result.output;
    EXPECT_EQ(result.output,
              "add on virtual GPU H200 (sm_90): a rehearsal, all work ran and no time was "
              "recorded\n");
  }
  const test::CommandResult bench = run_on_virtual_gpu(
      "sinter bench '" + path("add.sinter") + "' --device cuda --json", "SINTER_REHEARSE=on");
  const json expected = {
      {"graph", "add"}, {"device", "virtual GPU H200 (sm_90)"}, {"virtual", true}};
  EXPECT_EQ(json::parse(bench.output), expected);
  const test::CommandResult explain = run_on_virtual_gpu(
      "sinter explain --measure '" + path("add.sinter") + "' --device cuda", "SINTER_REHEARSE=on");
  EXPECT_EQ(explain.exit_code, 0) << explain.output;
  EXPECT_THAT(explain.output, Not(HasSubstr("measured")));
}

TEST_F(DeviceTimes, OfRepeatedRunsAreNotPrinted) {
  const test::CommandResult result =
      run_on_virtual_gpu("sinter run '" + path("add.sinter") + "' --device cuda --repeat 3");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("3 runs, whose times mean nothing\n"));
  EXPECT_THAT(result.output, Not(HasSubstr("median")));
}

TEST_F(DeviceTimes, AreNotExportedForOtherMachines) {
  const std::string words = " '" + path("add.sinter") + "' --device ";
  const test::CommandResult written = run_on_virtual_gpu(
      "sinter tune" + words + "cuda --export '" + path("virtual.tune") + "'", "SINTER_REHEARSE=on");
  EXPECT_EQ(written.exit_code, 0) << written.output;
  EXPECT_FALSE(std::filesystem::exists(path("virtual.tune")));
}

TEST_F(DeviceTimes, OfPeersAreMissing) {
  if (run_on_virtual_gpu("PYTHONPATH=\"$SINTER_NUMPY\" python3 -c 'import numpy'").exit_code != 0)
    GTEST_SKIP() << "there is no python3 with NumPy";
  for (const std::string peer : {"torch_eager", "cub", "cupy_kernels", "jax_jit"}) {
    const std::string words = peer == "cupy_kernels" ? " fuse" : "";
    const test::CommandResult result = run_on_virtual_gpu(
        "PYTHONPATH=\"$SINTER_NUMPY\" python3 -B '" SINTER_SOURCE_DIR "/bench/peers/" + peer +
        ".py'" + words + " --tiny --only add_f32 --json '" + path(peer + ".json") + "'");
    const std::string reason =
        "virtual GPU H200 (sm_90) interprets kernels, so its times mean "
        "nothing";
    EXPECT_THAT(result.output, HasSubstr(" is missing: " + reason)) << peer;
    const json rows = json::parse(std::ifstream(path(peer + ".json")))["rows"];
    ASSERT_FALSE(rows.empty());
    for (const json& row : rows) {
      EXPECT_EQ(row["status"], "missing");
      EXPECT_EQ(row["reason"], reason);
    }
  }
}

TEST_F(DeviceTimes, AreNotCompared) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  std::ofstream(path("rehearsed.json")) << R"json({"schema": "sinter-bench-1",
    "system": "sinter", "device": "virtual GPU H200 (sm_90)", "driver": "", "date": "", "rows": [
    {"case": "add", "group": "elementwise", "system": "sinter", "mode": "K", "status": "ok",
     "reason": null, "bytes": 8, "us": {"lower": 1, "median": 1, "upper": 1}, "tb_per_s": 1,
     "of_copy": 1}]})json";
  const test::CommandResult result = run_on_virtual_gpu(
      "python3 -B '" SINTER_SOURCE_DIR "/bench/compare' '" + path("rehearsed.json") + "'");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("rehearsed.json is a rehearsal on virtual GPU H200 (sm_90), which has no "
                        "times; its rows do not count"));
  EXPECT_THAT(result.output, Not(HasSubstr("| add |")));
}

TEST(RehearsalVariable, IsOnOrOff) {
  const auto record = [](const char* value) {
    setenv("SINTER_REHEARSE", value, 1);
    return may_record_times("virtual GPU H200 (sm_90)", "a test");
  };
  EXPECT_FALSE(record("on"));
  EXPECT_EQ(test::error_of([&] { record("off"); }), "a test" + kRefusal);
  EXPECT_EQ(test::error_of([&] { record("yes"); }), "SINTER_REHEARSE=yes: expected on or off");
  EXPECT_TRUE(may_record_times("NVIDIA H200", "a test"));
  unsetenv("SINTER_REHEARSE");
}

}  // namespace
}  // namespace sinter::virtual_gpu::device_times_test
