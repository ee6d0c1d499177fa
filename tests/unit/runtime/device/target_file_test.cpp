// Target files: measured constants replace the planner's assumptions, and mistakes are reported.
#include "runtime/device/target_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "compiler/target/measured_constants.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::target_file_test {
namespace {

using ::testing::HasSubstr;

const Target& h200() { return *find_target("h200"); }

std::string file_of(std::string_view gpu, std::string_view constants,
                    std::string_view schema = kTargetFileSchema) {
  return fmt::format(R"({{"schema": "{}", "gpu": "{}", "arch": "sm_90", "constants": {{{}}}}})",
                     schema, gpu, constants);
}

std::string error_with(const std::string& text) {
  return error_of([&] { with_constants(h200(), text, "my.json"); });
}

TEST(TargetFile, EveryConstantReplacesItsAssumption) {
  for (const MeasuredConstant& constant : measured_constants()) {
    const double value = constant.low + (constant.high - constant.low) / 4;
    const Target target = with_constants(
        h200(), file_of("NVIDIA H200", fmt::format(R"("{}": {})", constant.name, value)), "a file");
    EXPECT_NEAR(constant.get(target), value, 1) << constant.name;
    EXPECT_NE(constant.get(target), constant.get(h200())) << constant.name;
    for (const MeasuredConstant& other : measured_constants())
      if (other.name != constant.name) {
        EXPECT_EQ(other.get(target), other.get(h200())) << constant.name << ", " << other.name;
      }
  }
}

TEST(TargetFile, AssumptionsOfEveryGpuAreInRange) {
  for (const Target& target : known_targets())
    for (const MeasuredConstant& constant : measured_constants()) {
      EXPECT_GE(constant.get(target), constant.low) << target.name << ", " << constant.name;
      EXPECT_LE(constant.get(target), constant.high) << target.name << ", " << constant.name;
    }
}

TEST(TargetFile, BelongsToOneGpu) {
  const std::string file = file_of("NVIDIA H100 PCIe", R"("launch_seconds": 2e-06)");
  EXPECT_EQ(with_constants(*find_target("h100_pcie"), file, "my.json").launch_seconds, 2e-6);
  EXPECT_EQ(error_with(file),
            "options.target_file: my.json has the constants of NVIDIA H100 PCIe (sm_90), but the "
            "plan is for h200 (sm_90); run measure_gpu constants there, or leave the option empty");
  // A GPU that sinter does not know plans for itself, under its own name.
  Target own = h200();
  own.name = "Some GPU";
  const std::string of_own = file_of("Some GPU", R"("barrier_seconds": 3e-06)");
  EXPECT_EQ(with_constants(own, of_own, "my.json").barrier_seconds, 3e-6);
  own.arch = "sm_80";
  EXPECT_THAT(error_of([&] { with_constants(own, of_own, "my.json"); }),
              HasSubstr("the plan is for Some GPU (sm_80)"));
}

TEST(TargetFile, MistakesAreReported) {
  const auto problem = [](const std::string& text) {
    return "options.target_file: my.json is no target file: " + text +
           "; measure_gpu constants --json FILE writes one";
  };
  EXPECT_EQ(error_with("[1]"), problem("it is not a JSON object"));
  EXPECT_EQ(error_with("{"), problem("it is not a JSON object"));
  EXPECT_EQ(error_with("{}"), problem("it has no text \"schema\""));
  EXPECT_EQ(error_with(file_of("NVIDIA H200", "", "sinter-bench-1")),
            problem("its schema is \"sinter-bench-1\", not \"sinter-target-1\""));
  EXPECT_EQ(error_with(R"({"schema": "sinter-target-1", "arch": "sm_90"})"),
            problem("it has no text \"gpu\""));
  EXPECT_EQ(error_with(R"({"schema": "sinter-target-1", "gpu": "NVIDIA H200", "arch": "sm_90"})"),
            problem("it has no object \"constants\""));
  EXPECT_EQ(error_with(file_of("NVIDIA H200", R"("launch": 1)")),
            problem("there is no constant \"launch\"; known are bandwidth, bytes_in_flight, "
                    "launch_seconds, stream_launch_seconds, barrier_seconds, "
                    "cluster_barrier_seconds, cooperative_loss, tile_copy_seconds, tile_speedup"));
  EXPECT_EQ(error_with(file_of("NVIDIA H200", R"("launch_seconds": "1e-6")")),
            problem("\"launch_seconds\" is not a number"));
  EXPECT_EQ(error_with(file_of("NVIDIA H200", R"("launch_seconds": 1.3)")),
            problem("\"launch_seconds\" is 1.3 seconds, outside of 1e-08 to 0.001"));
  EXPECT_EQ(error_with(file_of("NVIDIA H200", R"("cooperative_loss": -0.5)")),
            problem("\"cooperative_loss\" is -0.5 of the bandwidth, outside of 0 to 0.9"));
}

TEST(TargetFile, IsReadFromItsPath) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/h200.json";
  EXPECT_EQ(with_target_file(h200(), "").bandwidth, h200().bandwidth);
  EXPECT_EQ(error_of([&] { with_target_file(h200(), path); }),
            "options.target_file: " + path + " cannot be read: No such file or directory");
  std::ofstream(path) << file_of("NVIDIA H200", R"("bandwidth": 4.1e12, "bytes_in_flight": 40000)");
  const Target target = with_target_file(h200(), path);
  EXPECT_EQ(target.bandwidth, 4.1e12);
  EXPECT_EQ(target.bytes_in_flight, 40000);
}

TEST(TargetFile, ServesNoCpu) {
  EXPECT_EQ(with_target_file(cpu_target(), "missing.json").bandwidth, cpu_target().bandwidth);
}

}  // namespace
}  // namespace sinter::test::target_file_test
