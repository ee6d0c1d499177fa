// measure_gpu: the planner's constants are measured to the end on every device, and errors of
// approximations agree with what the virtual GPU does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "bench/constants/bytes_needed.h"
#include "compiler/target/measured_constants.h"
#include "compiler/target/wave_quantization.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/virtual_gpu/rehearsal/on_virtual_gpu.h"

namespace sinter::virtual_gpu::measure_gpu_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class MeasureGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_programs("measure_gpu"); !why.empty()) GTEST_SKIP() << why;
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  json read(const std::string& name) const { return json::parse(std::ifstream(path(name))); }
  /// The errors of the instructions that begin with `only`, by opcode.
  std::map<std::string, json> errors(const std::string& only, const std::string& variables) const {
    const test::CommandResult result =
        run_on_virtual_gpu("measure_gpu approximations --only " + only +
                               " --stride 65536 --json '" + path("e.json") + "'",
                           variables);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr("these are the errors of an interpreter, not of a GPU"));
    const json all = read("e.json");
    EXPECT_EQ(all["schema"], "sinter-approximations-1");
    EXPECT_EQ(all["virtual"], true);
    std::map<std::string, json> found;
    for (const json& one : all["instructions"]) found[one["opcode"]] = one;
    return found;
  }

 private:
  test::ScratchFolder folder_;
};

TEST_F(MeasureGpu, RunsEveryMeasurementAndRecordsNoneOfAVirtualGpu) {
  const test::CommandResult refused = run_on_virtual_gpu("measure_gpu constants");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output,
              HasSubstr("measure_gpu constants: virtual GPU H200 (sm_90) interprets "
                        "kernels, so its times mean nothing"));
  const test::CommandResult result = run_on_virtual_gpu(
      "measure_gpu constants --json '" + path("t.json") + "'", "SINTER_REHEARSE=on");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const MeasuredConstant& constant : measured_constants())
    EXPECT_THAT(result.output, HasSubstr(std::string(constant.name))) << constant.name;
  const json file = read("t.json");
  EXPECT_EQ(file["schema"], "sinter-target-1");
  EXPECT_EQ(file["gpu"], "virtual GPU H200 (sm_90)");
  EXPECT_EQ(file["virtual"], true);
  EXPECT_TRUE(file["constants"].empty());
  EXPECT_TRUE(file["others"].empty());
  EXPECT_EQ(file["assumed"].size(), measured_constants().size());
}

TEST_F(MeasureGpu, ReportsWhatAGpuLacks) {
  const test::CommandResult result = run_on_virtual_gpu(
      "measure_gpu constants", "SINTER_REHEARSE=on VIRTUAL_GPUS='sm_80 sms=2 l2=64k'");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("cluster_barrier_seconds    not measured: virtual GPU A100 "
                                       "(sm_80) has no clusters\n"));
}

TEST_F(MeasureGpu, RunsOnTheHostDevice) {
  const test::CommandResult result = run_on_virtual_gpu("measure_gpu constants --device host");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("tile_speedup               a rehearsal, not recorded\n"));
}

/// The planner then uses the constants of the file.
TEST_F(MeasureGpu, ATargetFileReachesThePlan) {
  std::ofstream(path("add.sinter"))
      << "graph add(x: f32[100]) {\n  y = add x, 1.0\n  return y\n}\n";
  const auto with = [&](const std::string& constants) {
    std::ofstream(path("t.json")) << R"({"schema": "sinter-target-1", "gpu": "NVIDIA H200",
      "arch": "sm_90", "constants": {)" + constants +
                                         "}}";
    return run_on_virtual_gpu("sinter explain '" + path("add.sinter") + "' --arch h200 --json",
                              "SINTER_TARGET_FILE='" + path("t.json") + "'");
  };
  const json slow = json::parse(with(R"("launch_seconds": 2e-05)").output);
  EXPECT_EQ(slow["roofs"]["launch_us"], 20.0);
  EXPECT_GT(slow["kernels"][0]["predicted_us"], 20.0);
  const test::CommandResult wrong = with(R"("launch_seconds": 20)");
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_THAT(wrong.output,
              HasSubstr("\"launch_seconds\" is 20 seconds, outside of 1e-08 to 0.001"));
}

TEST_F(MeasureGpu, ExactApproximationsAreTheNearestNumbers) {
  const std::map<std::string, json> all =
      errors("ex2,lg2,rcp,sqrt,rsqrt,sin,cos,tanh,div", "VIRTUAL_GPU_APPROXIMATIONS=exact");
  EXPECT_EQ(all.size(), 25U);
  for (const auto& [opcode, found] : all) {
    EXPECT_EQ(found["steps"].size(), 1U) << opcode << found["steps"];
    EXPECT_EQ(found["steps"]["0"], found["operands"]) << opcode;
    EXPECT_LE(found["max_ulp"], 0.5) << opcode;
    EXPECT_EQ(found["wrong_kinds"], 0) << opcode;
  }
  EXPECT_EQ(all.at("ex2.approx.ftz.f32").at("special").at("0xff800000"), "0x00000000");
}

/// The bounds are those of the PTX ISA manual, sections 9.7.3.8 to 9.7.3.22.
TEST_F(MeasureGpu, SeededApproximationsStayWithinTheManualsBounds) {
  std::map<std::string, json> all = errors(
      "lg2.approx.f32,rcp,sqrt.approx.f32,tanh.approx.f32,"
      "div.full",
      "VIRTUAL_GPU_APPROXIMATIONS=seeded");
  for (const auto& [opcode, found] : all) EXPECT_GT(found["steps"].size(), 1U) << opcode;
  EXPECT_LE(all["rcp.approx.f32"]["max_ulp"], 1.0);
  EXPECT_LE(all["div.full.f32"]["max_ulp"], 2.0);
  EXPECT_LE(all["sqrt.approx.f32"]["max_relative"], 0x1p-23);
  EXPECT_LE(all["tanh.approx.f32"]["max_relative"], 0x1p-11);
  for (const json& range : all["lg2.approx.f32"]["ranges"])
    if (range["first_operand"] == "0x3f800000") {
      EXPECT_LE(range["max_absolute"], 0x1p-22);
    }
}

TEST_F(MeasureGpu, MistakesAreReported) {
  const test::CommandResult unknown = run_on_virtual_gpu("measure_gpu approximations --only exp");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.output,
              HasSubstr("--only exp: no instruction begins with it; one is ex2.approx.f32"));
  EXPECT_EQ(run_on_virtual_gpu("measure_gpu").exit_code, 2);
  EXPECT_THAT(run_on_virtual_gpu("measure_gpu approximations --only tanh.approx.bf16",
                                 "VIRTUAL_GPUS='sm_80 sms=2'")
                  .output,
              HasSubstr("tanh.approx.bf16       missing: it needs sm_90\n"));
}

TEST(BytesNeeded, InvertsThePlannersModel) {
  Target target = *find_target("h200");
  target.bytes_in_flight = 40000;
  std::vector<constants::RunInFlight> runs;
  for (const double bytes : {10000.0, 16000.0, 25000.0, 80000.0})
    runs.push_back({.bytes_in_flight = bytes,
                    .relative_time = target.bandwidth / reached_bandwidth(target, bytes)});
  EXPECT_NEAR(constants::bytes_needed(runs), 40000, 1);
  EXPECT_EQ(constants::bytes_needed({{.bytes_in_flight = 1000, .relative_time = 1}}), 0);
}

}  // namespace
}  // namespace sinter::virtual_gpu::measure_gpu_test
