// Parsing of JSON into trees, and quoting of strings.
#include "runtime/support/json_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace sinter::json_tree_test {
namespace {

using Kind = JsonTree::Kind;

TEST(JsonTree, HasTheParsedValues) {
  const auto tree = parse_json(R"({"a": [1, -2.5, true, null, "t\"é"], "b": {"a": 7}, "b": {}})");
  ASSERT_TRUE(tree);
  const std::vector<JsonTree>& list = tree->members.at("a").array;
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0].integer, 1);
  EXPECT_EQ(list[0].number, 1);
  EXPECT_EQ(list[1].number, -2.5);
  EXPECT_TRUE(list[1].is(Kind::number));
  EXPECT_TRUE(list[2].boolean);
  EXPECT_TRUE(list[3].is(Kind::null));
  EXPECT_EQ(list[4].string, "t\"é");
  EXPECT_TRUE(tree->members.at("b").members.empty()) << "the last of equal members counts";
}

TEST(JsonTree, LargeIntegersBecomeNumbers) {
  EXPECT_EQ(parse_json("9223372036854775807")->integer, INT64_MAX);
  EXPECT_TRUE(parse_json("9223372036854775808")->is(Kind::number));
  EXPECT_TRUE(parse_json("-1")->is(Kind::integer));
}

TEST(JsonTree, RejectsInvalidJson) {
  for (const char* const text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "\"\xff\""})
    EXPECT_FALSE(parse_json(text)) << text;
}

TEST(JsonTree, LimitsNesting) {
  EXPECT_TRUE(parse_json("[[1]]", 2));
  EXPECT_FALSE(parse_json("[[[]]]", 2));
  EXPECT_FALSE(parse_json(std::string(200'000, '[')));
}

TEST(JsonTree, QuotedTextRoundTrips) {
  const std::string text = "a \"quoted\" \\ line\n";
  EXPECT_EQ(parse_json(json_quoted(text))->string, text);
  EXPECT_EQ(parse_json(json_quoted("\xff"))->string, "\xef\xbf\xbd");
}

}  // namespace
}  // namespace sinter::json_tree_test
