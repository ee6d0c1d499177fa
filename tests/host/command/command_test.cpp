// JSON output of the command for one graph: explain, profile and run on the host device.
#include "tests/support/files/command.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sinter::test::command_test {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRuns = SINTER_SOURCE_DIR "/tests/golden/run";

class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  }

  static Json json_of(const std::string& line) {
    const CommandResult result = run_command(line, kRuns);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.output;
    return Json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  }

  static std::vector<std::string> keys(const Json& object) {
    std::vector<std::string> result;
    for (const auto& [key, value] : object.items()) result.push_back(key);
    return result;
  }
};

using Keys = std::vector<std::string>;

TEST_F(CommandTest, ProfileHasTheDocumentedKeys) {
  const Json json = json_of(
      "SINTER_TUNE=off sinter profile layer_norm_backward.sinter --device host --repeats 2 --json");
  EXPECT_EQ(keys(json), (Keys{"graph", "device", "target", "sizes", "repeats", "is_cold", "kernels",
                              "totals"}));
  EXPECT_EQ(json["repeats"], 2);
  ASSERT_FALSE(json["kernels"].empty());
  const Json explained = json_of("sinter explain layer_norm_backward.sinter --json");
  ASSERT_EQ(json["kernels"].size(), explained["kernels"].size());
  for (std::size_t i = 0; i < json["kernels"].size(); ++i) {
    const Json& kernel = json["kernels"][i];
    EXPECT_EQ(keys(kernel),
              (Keys{"name", "schedule", "launches", "bytes_read", "bytes_written",
                    "bytes_are_bounds", "median_us", "lower_quartile_us", "upper_quartile_us",
                    "gigabytes_per_second", "copy_us", "share_of_copy"}));
    EXPECT_EQ(kernel["name"], explained["kernels"][i]["name"]);
    EXPECT_EQ(kernel["bytes_read"], explained["kernels"][i]["bytes_read"]);
    EXPECT_GT(kernel["median_us"], 0);
  }
}

TEST_F(CommandTest, ExplainMeasuresOnTheDevice) {
  const std::string line = "SINTER_TUNE=off sinter explain layer_norm_backward.sinter --json";
  const Json predicted = json_of(line);
  const Json measured = json_of(line + " --measure --device host --repeats 2");
  EXPECT_TRUE(predicted["measured_on"].is_null());
  EXPECT_EQ(measured["measured_on"].get<std::string>().find("host device"), 0u);
  ASSERT_FALSE(measured["kernels"].empty());
  for (std::size_t i = 0; i < measured["kernels"].size(); ++i) {
    const Json& kernel = measured["kernels"][i];
    EXPECT_TRUE(predicted["kernels"][i]["measured"].is_null());
    EXPECT_GT(kernel["measured"]["median_us"], 0);
    EXPECT_EQ(kernel["tuning"], "off: the heuristic's choice");
    EXPECT_EQ(kernel["source"], predicted["kernels"][i]["source"]);
  }
}

TEST_F(CommandTest, BoundariesNameExistingKernels) {
  const Json json = json_of(
      "SINTER_SKIP=fuse; export SINTER_SKIP; "
      "sinter explain layer_norm_backward.sinter --json");
  Keys names;
  for (const Json& kernel : json["kernels"]) {
    names.push_back(kernel["name"]);
    for (const Json& section : kernel["sections"]) names.push_back(section["name"]);
  }
  ASSERT_FALSE(json["boundaries"].empty());
  for (const Json& boundary : json["boundaries"]) {
    EXPECT_EQ(keys(boundary), (Keys{"producer", "consumer", "reason", "is_inside", "bytes"}));
    for (const char* end : {"producer", "consumer"})
      EXPECT_EQ(std::ranges::count(names, boundary[end].get<std::string>()), 1) << boundary;
    EXPECT_NE(boundary["reason"], "");
    EXPECT_GT(boundary["bytes"].get<std::int64_t>(), 0) << boundary;
  }
}

TEST_F(CommandTest, RunHasTheDocumentedKeys) {
  const Json plain = json_of("sinter run sgd.sinter --device host --json");
  EXPECT_EQ(keys(plain), (Keys{"launches", "bytes_counted", "worst_error_over_bound", "first_bad",
                               "undecided", "bit_equal_unfused", "repeat", "outputs"}));
  EXPECT_TRUE(plain["worst_error_over_bound"].is_null());
  EXPECT_TRUE(plain["bit_equal_unfused"].is_null());
  const Json checked = json_of("sinter run sgd.sinter --device host --json --check");
  EXPECT_LE(checked["worst_error_over_bound"], 1.0);
  EXPECT_EQ(checked["undecided"], 0);
  EXPECT_EQ(checked["bit_equal_unfused"], true);
  ASSERT_EQ(checked["outputs"].size(), 3u);  // the updated inputs
  EXPECT_EQ(keys(checked["outputs"][0]), (Keys{"name", "is_update", "dtype", "shape", "hash"}));
  EXPECT_EQ(checked["outputs"], plain["outputs"]);
}

TEST_F(CommandTest, RunCountsWhatExplainPredicts) {
  for (const std::string graph :
       {"softmax.sinter --size rows=7 columns=33", "layer_norm_backward.sinter --size rows=37",
        "batch_norm.sinter --size batch=6", "sgd.sinter"}) {
    const Json explained = json_of("sinter explain --json " + graph);
    const Json fused = json_of("sinter run --device host --json " + graph);
    EXPECT_EQ(fused["launches"], explained["totals"]["launches"]) << graph;
    EXPECT_EQ(fused["bytes_counted"], explained["totals"]["bytes"]) << graph;
    const Json unfused = json_of("sinter run --device host --unfused --json " + graph);
    EXPECT_EQ(unfused["bytes_counted"], explained["totals"]["unfused_bytes"]) << graph;
    EXPECT_GE(unfused["launches"], fused["launches"]) << graph;
    EXPECT_EQ(unfused["outputs"], fused["outputs"]) << graph;
  }
}

/// Simulates a compiler bug: replaces the fused kernel's sum by a difference.
constexpr const char* kBrokenCompiler = R"(cc=$(mktemp); cat > "$cc" <<'END'
#!/bin/sh
for word; do
  case $word in *.cpp) sed -i 's/const float sum = a\[k\] + b\[k\]/const float sum = a[k] - b[k]/' "$word";; esac
done
exec c++ "$@"
END
chmod +x "$cc"; SINTER_HOST_CXX=$cc; export SINTER_HOST_CXX
)";

TEST_F(CommandTest, CheckFindsWrongResults) {
  const std::string folder = SINTER_SOURCE_DIR "/tests/golden/command";
  const CommandResult text = run_command(std::string(kBrokenCompiler) +
                                             "sinter run add.sinter --device host --check; "
                                             "status=$?; rm \"$cc\"; (exit $status)",
                                         folder);
  EXPECT_EQ(text.exit_code, 1) << text.output;
  EXPECT_NE(text.output.find("elements are beyond their bounds"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("first at [0, "), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("fused and unfused bits differ"), std::string::npos) << text.output;

  const CommandResult json = run_command(std::string(kBrokenCompiler) +
                                             "sinter run add.sinter --device host --check --json; "
                                             "status=$?; rm \"$cc\"; (exit $status)",
                                         folder);
  EXPECT_EQ(json.exit_code, 1);
  const Json verdict = Json::parse(json.output, nullptr, /*allow_exceptions=*/false);
  EXPECT_GT(verdict["worst_error_over_bound"], 1.0);
  EXPECT_EQ(verdict["bit_equal_unfused"], false);
}

TEST_F(CommandTest, TheSeedDeterminesTheResult) {
  const Json first = json_of("sinter run sgd.sinter --device host --seed 5 --json");
  const Json again = json_of("sinter run sgd.sinter --device host --seed 5 --json");
  const Json other = json_of("sinter run sgd.sinter --device host --seed 6 --json");
  EXPECT_EQ(first["outputs"], again["outputs"]);
  EXPECT_NE(first["outputs"], other["outputs"]);
}

TEST_F(CommandTest, NumericsReachTheKernels) {
  const CommandResult source =
      run_command("sinter dump softmax.sinter --rounding wide --math fast", kRuns);
  EXPECT_EQ(source.exit_code, 0) << source.output;
  EXPECT_NE(source.output.find("// rounding wide, math fast"), std::string::npos) << source.output;
  const Json explained = json_of("sinter explain softmax.sinter --math fast --json");
  EXPECT_FALSE(explained["kernels"].empty());
  const std::string chain =
      "printf 'graph g(x: bf16[64]) {\\n  a = mul x, 1.1\\n  b = add a, 0.3\\n  return b\\n}\\n' | "
      "sinter run - --device host --json";
  const Json recorded = json_of(chain + " --rounding as_recorded --math accurate");
  const Json wide = json_of(chain + " --rounding wide");
  EXPECT_EQ(recorded["outputs"], json_of(chain)["outputs"]);
  EXPECT_NE(recorded["outputs"], wide["outputs"]);
}

TEST_F(CommandTest, RunAcceptsSizesOfZero) {
  const Json json = json_of(
      "sinter run softmax.sinter --device host --check --json "
      "--size rows=0 columns=16");
  EXPECT_EQ(json["launches"], 0);
  EXPECT_EQ(json["bit_equal_unfused"], true);
}

TEST_F(CommandTest, CudaWithoutAGpuFailsInOneLine) {
  const CommandResult result = run_command(
      "CUDA_VISIBLE_DEVICES=; export CUDA_VISIBLE_DEVICES; sinter run sgd.sinter --device cuda",
      kRuns);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.output.starts_with("sinter: ")) << result.output;
}

TEST_F(CommandTest, RejectsTenMegabytesOfJunk) {
  for (const std::string junk : {"yes 'graph g('", "yes 'y = add x, x'", "cat /dev/zero"}) {
    const CommandResult result =
        run_command(junk + " | head -c 10000000 | sinter explain - > /dev/null 2>&1", kRuns);
    EXPECT_EQ(result.exit_code, 1) << junk;
  }
}

}  // namespace
}  // namespace sinter::test::command_test
