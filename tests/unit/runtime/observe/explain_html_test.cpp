// The explanation page is one self-contained file, and names in it are never interpreted as markup.
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sinter/explain.h"
#include "tests/support/graphs/markup_names.h"

namespace sinter::explain_html_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t number = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++number;
  return number;
}

/// The contents of the page's script element with the data.
std::string data_of(const std::string& page) {
  const std::string head = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(head) + head.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(ExplainHtmlTest, EscapesNames) {
  const Explanation explanation = explain(test::hostile_graph());
  const std::string page = explanation_html(explanation);
  EXPECT_EQ(count(page, "<script"), 2U);
  EXPECT_EQ(count(page, "</script"), 2U);
  EXPECT_EQ(count(page, "<!--"), 0U);
  EXPECT_EQ(count(page, "<img"), 0U);
  EXPECT_THAT(page,
              HasSubstr("<title>&lt;/title&gt;&lt;script&gt;complain('title')&lt;/script&gt;"));
}

TEST(ExplainHtmlTest, EmbedsTheJson) {
  const Explanation explanation = explain(test::hostile_graph());
  const std::string data = data_of(explanation_html(explanation));
  EXPECT_EQ(nlohmann::json::parse(data), nlohmann::json::parse(explanation_json(explanation)));
  EXPECT_THAT(data, HasSubstr("\\u003c/script\\u003e"));
}

TEST(ExplainHtmlTest, DoesNotExpandPlaceholdersInNames) {
  Graph graph("{{data}} {{script}}");
  graph.output("y", exp(graph.input("x", f32, {64}).label("{{style}}")));
  const std::string page = explanation_html(explain(graph));
  EXPECT_THAT(page, HasSubstr("<title>{{data}} {{script}}"));
  EXPECT_EQ(count(page, "default-src 'none'"), 1U);
  EXPECT_EQ(count(page, "new Page("), 1U);
}

TEST(ExplainHtmlTest, LoadsNothingExternal) {
  const std::string page = explanation_html(explain(test::hostile_graph()));
  const std::size_t data = page.find(data_of(page));
  const std::string rest = page.substr(0, data) + page.substr(data + data_of(page).size());
  static const std::regex elsewhere(R"((src|href)\s*=|url\([^#]|@import|fetch\(|XMLHttpRequest)");
  EXPECT_FALSE(std::regex_search(rest, elsewhere));
  // The only URL is the SVG namespace, which browsers do not load.
  EXPECT_EQ(count(rest, "http://") + count(rest, "https://"), 1U);
  EXPECT_THAT(rest, Not(HasSubstr("innerHTML")));
}

}  // namespace
}  // namespace sinter::explain_html_test
