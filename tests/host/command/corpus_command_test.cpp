// `sinter corpus` on a folder of graphs, and `sinter ops`.
#include "tests/support/files/command.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

namespace sinter::test::corpus_command_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

constexpr const char* kGood = R"(graph good(x: f32[4, 8]) {
  y = exp x
  s = sum y {axes = [1]}
  return s
}
)";
constexpr const char* kBad = R"(graph bad(x: f32[4]) {
  y = nonsense x
  return y
}
)";
constexpr const char* kBig = R"(graph big(x: f32[64, 64]) {
  y = add x, 1.0
  return y
}
)";

Keys keys(const Json& object) {
  Keys result;
  for (const auto& [key, value] : object.items()) result.push_back(key);
  return result;
}

class CorpusCommandTest : public testing::Test {
 protected:
  CorpusCommandTest()
      : folder_(fs::path(testing::TempDir()) / ("sinter-corpus-" + std::to_string(getpid()))) {}

  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    write("bad.sinter", kBad);
    write("inner/big.sinter", kBig);
    write("inner/good.sinter", kGood);
    write("notes.txt", "no graph");
  }

  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  const fs::path& folder() const { return folder_; }

  CommandResult run(const std::string& line) const { return run_command(line, folder_); }

  /// The JSON report of the folder. Expects `exit_code`.
  Json corpus(const std::string& options, int exit_code) const {
    const CommandResult result = run("sinter corpus . --json " + options);
    EXPECT_EQ(result.exit_code, exit_code) << options << "\n" << result.output;
    return Json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  }

 private:
  fs::path folder_;
};

TEST_F(CorpusCommandTest, ContinuesAfterAFailure) {
  const Json json = corpus("--limit-elements 1000 --jobs 2", /*exit_code=*/1);
  EXPECT_EQ(keys(json), (Keys{"files", "totals"}));
  ASSERT_EQ(json["files"].size(), 3u);
  for (const Json& file : json["files"])
    EXPECT_EQ(keys(file),
              (Keys{"name", "stage", "error", "kernels", "bytes", "minimal_bytes", "spill_bytes",
                    "compile_ms", "worst_error_over_bound", "bit_equal_unfused"}));
  EXPECT_EQ(json["files"][0]["name"], "bad.sinter");
  EXPECT_EQ(json["files"][1]["name"], "inner/big.sinter");
  EXPECT_EQ(json["files"][2]["name"], "inner/good.sinter");
}

TEST_F(CorpusCommandTest, ReportsParseErrorsPerFile) {
  const Json file = corpus("--only bad", /*exit_code=*/1)["files"][0];
  const std::string error = file["error"];
  EXPECT_NE(error.find("bad.sinter:2:"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  for (const char* unknown : {"stage", "kernels", "bytes", "worst_error_over_bound"})
    EXPECT_TRUE(file[unknown].is_null()) << unknown;
}

TEST_F(CorpusCommandTest, PlansButDoesNotRunGraphsOverTheLimit) {
  const Json json = corpus("--only big --limit-elements 1000", /*exit_code=*/0);
  const Json& file = json["files"][0];
  EXPECT_EQ(file["stage"], "plan");
  EXPECT_TRUE(file["error"].is_null());
  EXPECT_EQ(file["kernels"], 1);
  EXPECT_EQ(file["bytes"], 2 * 64 * 64 * 4);
  EXPECT_EQ(file["minimal_bytes"], 2 * 64 * 64 * 4);
  EXPECT_TRUE(file["worst_error_over_bound"].is_null());
  EXPECT_EQ(json["totals"]["over_limit"], 1);
}

TEST_F(CorpusCommandTest, ChecksResultsOfGraphsThatRun) {
  const Json file = corpus("--only good", /*exit_code=*/0)["files"][0];
  EXPECT_EQ(file["stage"], "run");
  EXPECT_TRUE(file["error"].is_null());
  EXPECT_LE(file["worst_error_over_bound"], 1.0);
  EXPECT_EQ(file["bit_equal_unfused"], true);
  EXPECT_TRUE(file["spill_bytes"].is_null());
}

TEST_F(CorpusCommandTest, UnfusedRunsOnlyTheUnfusedGraph) {
  const Json file = corpus("--only good --unfused", /*exit_code=*/0)["files"][0];
  EXPECT_EQ(file["stage"], "run");
  EXPECT_LE(file["worst_error_over_bound"], 1.0);
  EXPECT_TRUE(file["bit_equal_unfused"].is_null());
}

TEST_F(CorpusCommandTest, TotalsCountTheFiles) {
  const Json totals = corpus("--limit-elements 1000", /*exit_code=*/1)["totals"];
  EXPECT_EQ(totals["files"], 3);
  EXPECT_EQ(totals["failed"], 1);
  EXPECT_EQ(totals["over_limit"], 1);
  EXPECT_EQ(totals["reached"], (Json{{"parse", 2}, {"plan", 2}, {"compile", 0}, {"run", 1}}));
  EXPECT_EQ(totals["kernels"], 2);
}

TEST_F(CorpusCommandTest, StageCompileReportsMissingNvrtc) {
  const Json file = corpus("--only good --stage compile", /*exit_code=*/1)["files"][0];
  EXPECT_EQ(file["stage"], "plan");
  const std::string error = file["error"];
  EXPECT_NE(error.find("NVRTC"), std::string::npos) << error;
}

TEST_F(CorpusCommandTest, TextHasALinePerFileAndTotals) {
  const CommandResult result = run("sinter corpus . --stage parse");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.output.starts_with("bad.sinter         -        failed: ")) << result.output;
  EXPECT_NE(result.output.find("\ninner/good.sinter  parse "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("\n3 files: "), std::string::npos) << result.output;
}

TEST_F(CorpusCommandTest, RejectsFoldersWithoutGraphs) {
  EXPECT_EQ(run("sinter corpus nowhere").exit_code, 2);
  EXPECT_EQ(run("sinter corpus . --only nothing").exit_code, 2);
  EXPECT_EQ(run("sinter corpus").exit_code, 2);
}

TEST_F(CorpusCommandTest, OpsListsEveryOpWithItsFacts) {
  const CommandResult result = run("sinter ops --json");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const Json json = Json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  const auto find = [&](const std::string& name) {
    for (const Json& op : json)
      if (op["name"] == name) return op;
    return Json();
  };
  const Json exp = find("exp");
  EXPECT_EQ(keys(exp), (Keys{"name", "kind", "operands", "dtypes", "result", "attributes", "ulp",
                             "gradient", "doc"}));
  EXPECT_EQ(exp["kind"], "elementwise");
  EXPECT_EQ(exp["operands"], 1);
  EXPECT_EQ(exp["gradient"], true);
  EXPECT_EQ(find("sum")["kind"], "reduction");
  EXPECT_EQ(find("sum")["attributes"][0]["name"], "axes");
  EXPECT_EQ(find("lt")["result"], "bool");
  EXPECT_EQ(find("where")["result"], "the operand's");
  EXPECT_EQ(find("softmax")["kind"], "composite");
}

TEST_F(CorpusCommandTest, OpsPrintsATable) {
  const CommandResult result = run("sinter ops");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* start : {"name ", "\nexp ", "\nsum ", "\nsoftmax "})
    EXPECT_NE(result.output.find(start), std::string::npos) << start << result.output;
}

TEST_F(CorpusCommandTest, ComparesTotalsWithABaseline) {
  const CommandResult saved = run("sinter corpus . --stage plan --save totals.json");
  ASSERT_TRUE(fs::exists(folder() / "totals.json")) << saved.output;
  std::ifstream file(folder() / "totals.json");
  Json totals = Json::parse(file);
  EXPECT_TRUE(totals["compile_ms"].is_null());
  EXPECT_GE(totals["bytes_over_minimal"].get<double>(), 1.0);
  EXPECT_EQ(run("sinter corpus . --stage plan --compare totals.json").output.find("worse"),
            std::string::npos);
  totals["bytes"] = totals["bytes"].get<std::int64_t>() - 1;
  totals["reached"]["parse"] = totals["reached"]["parse"].get<std::int64_t>() + 1;
  write("better.json", totals.dump());
  const CommandResult result = run("sinter corpus . --stage plan --compare better.json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, testing::HasSubstr("worse than better.json: reached/parse: "));
  EXPECT_THAT(result.output, testing::HasSubstr("worse than better.json: bytes: "));
  totals["files"] = 1000;
  write("other.json", totals.dump());
  EXPECT_THAT(run("sinter corpus . --stage plan --compare other.json").output,
              testing::HasSubstr("the baseline has 1000 files"));
}

TEST_F(CorpusCommandTest, ComparesWithStandardInput) {
  write("bad.json", R"({"files": 1000})");
  const CommandResult result = run("sinter corpus . --stage parse --compare - < bad.json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, testing::HasSubstr("worse than -: the baseline has 1000 files"));
}

TEST_F(CorpusCommandTest, RejectsAnEmptyBaseline) {
  write("empty.json", "");
  const CommandResult result = run("sinter corpus . --stage parse --compare empty.json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output,
              testing::HasSubstr("worse than empty.json: the baseline is not a JSON object"));
}

}  // namespace
}  // namespace sinter::test::corpus_command_test
