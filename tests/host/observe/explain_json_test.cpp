// The output of `sinter explain --json` matches its installed schema.
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/files/command.h"
#include "tests/support/files/json_schema.h"

namespace sinter::test::explain_json_test {
namespace {

using nlohmann::json;

json schema() {
  std::ifstream stream(SINTER_SOURCE_DIR "/runtime/observe/explain.schema.json");
  return stream ? json::parse(stream) : json();
}

class ExplainJsonTest : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    if (schema().is_null()) GTEST_SKIP() << "a bundle has no schema";
  }

  static json explained(const std::string& graph) {
    const CommandResult result =
        run_command("sinter explain --json " + graph, SINTER_SOURCE_DIR "/tests/golden");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  }
};

TEST_F(ExplainJsonTest, MatchesTheSchema) {
  for (const char* const graph :
       {"command/mlp.sinter", "command/batch_norm.sinter", "patterns/clip_adamw.sinter",
        "patterns/embedding_layer_norm.sinter", "run/layer_norm_backward.sinter"})
    EXPECT_EQ(schema_offences(schema(), explained(graph)), "") << graph;
}

TEST_F(ExplainJsonTest, SchemaDetectsMissingUnknownAndMistypedKeys) {
  json changed = explained("command/add.sinter");
  changed.erase("arch");
  changed["kernels"][0]["grid"] = "12";
  changed["nodes"][0]["role"] = "guest";
  changed["totals"]["speed"] = 1;
  EXPECT_EQ(schema_offences(schema(), changed),
            "$ lacks \"arch\"\n"
            "$.kernels[0].grid is string, not [\"integer\"]\n"
            "$.nodes[0].role is \"guest\", none of "
            "[\"input\",\"scalar\",\"number\",\"computed\",\"view\",\"simplified\"]\n"
            "$.totals has speed, which the schema does not know\n");
}

TEST_F(ExplainJsonTest, ReferencesAreValid) {
  for (const char* const graph : {"command/mlp.sinter", "patterns/clip_adamw.sinter"}) {
    const json answer = explained(graph);
    std::set<std::string> groups;
    for (const json& group : answer["groups"]) {
      groups.insert(group["name"]);
      EXPECT_LT(group["kernel"], answer["kernels"].size());
    }
    for (const json& group : answer["groups"])
      for (const json& use : group["reads"])
        for (const json& from : use["from"]) EXPECT_TRUE(groups.contains(from)) << from;
    for (std::size_t i = 0; i < answer["nodes"].size(); ++i) {
      const json& node = answer["nodes"][i];
      for (const json& operand : node["operands"]) EXPECT_LT(operand, i) << node;
      for (const json& group : node["groups"]) EXPECT_TRUE(groups.contains(group)) << node;
    }
  }
}

}  // namespace
}  // namespace sinter::test::explain_json_test
