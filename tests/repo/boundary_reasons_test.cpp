// Compares the table of boundary reasons in docs/guide/performance.md with the reasons in golden
// files and with the messages in the compiler's sources.
#include "tests/repo/source_tree.h"

#include <regex>

#include <gtest/gtest.h>

namespace sinter::repo::boundary_reasons_test {
namespace {

constexpr std::string_view kPage = "docs/guide/performance.md";
constexpr std::string_view kHeader = "| reason mentions |";

/// Words of a reason, in order: the text around each "…" of a phrase.
using Phrase = std::vector<std::string>;

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != text.npos;
       begin = end + separator.size())
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

/// The phrases in the first column of the table.
std::vector<Phrase> phrases_of(const std::vector<std::string>& page) {
  std::vector<Phrase> phrases;
  auto line = std::ranges::find_if(page, [](auto& text) { return text.starts_with(kHeader); });
  if (line == page.end()) return phrases;
  for (line += 2; line != page.end() && line->starts_with("| "); ++line)
    for (const std::string& phrase : split(line->substr(2, line->find(" | ") - 2), ", "))
      phrases.push_back(split(phrase, "…"));
  return phrases;
}

bool mentions(const std::string& reason, const Phrase& phrase) {
  std::size_t at = 0;
  return std::ranges::all_of(phrase, [&](const std::string& words) {
    at = reason.find(words, at);
    return at != reason.npos;
  });
}

/// The reasons in a golden file: the rest of lines "producer | consumer: reason".
std::vector<std::string> reasons_in(const std::vector<std::string>& lines) {
  static const std::regex boundary(R"(^(//|  (inside )?)\s*\S+ \| \S+( \(\d+ bytes\))?: (.+)$)");
  std::vector<std::string> reasons;
  std::smatch match;
  for (const std::string& line : lines)
    if (std::regex_match(line, match, boundary)) reasons.push_back(match[4]);
  return reasons;
}

TEST(BoundaryReasonsTest, TheGuideExplainsEveryReasonInGoldenFiles) {
  const std::vector<Phrase> phrases =
      phrases_of(split_lines(test::read_text(source_root() / kPage)));
  ASSERT_FALSE(phrases.empty());
  std::string missing;
  std::size_t count = 0;
  for (const char* folder : {"tests/golden/kernels", "tests/golden/patterns"})
    for (const auto& file : std::filesystem::directory_iterator(source_root() / folder))
      for (const std::string& reason : reasons_in(split_lines(test::read_text(file.path())))) {
        ++count;
        if (std::ranges::none_of(phrases, [&](auto& phrase) { return mentions(reason, phrase); }))
          missing += file.path().filename().string() + ": " + reason + "\n";
      }
  EXPECT_GT(count, 20u) << "golden files no longer have the expected form";
  EXPECT_EQ(missing, "") << "add a row to " << kPage;
}

TEST(BoundaryReasonsTest, TheGuideQuotesTheCompiler) {
  std::string sources;
  for (const SourceFile& file : read_source_tree())
    if (file.path.starts_with("compiler/") && file.path.ends_with(".cpp"))
      for (const std::string& line : file.lines) sources += line + "\n";
  // Adjacent literals are one message.
  sources = std::regex_replace(sources, std::regex(R"("\s*\n\s*")"), "");
  for (const Phrase& phrase : phrases_of(split_lines(test::read_text(source_root() / kPage))))
    for (const std::string& words : phrase)
      EXPECT_NE(sources.find(words), sources.npos)
          << kPage << ": no source of the compiler says \"" << words << "\"";
}

TEST(BoundaryReasonsTest, FindsReasonsAndPhrases) {
  EXPECT_EQ(reasons_in({"// a | b: c has … elements", "  inside a | b (12 bytes): d", "x | y"}),
            (std::vector<std::string>{"c has … elements", "d"}));
  const std::vector<Phrase> phrases =
      phrases_of({"| reason mentions | means |", "|---|---|", "| a cycle, has … elements | x |"});
  ASSERT_EQ(phrases, (std::vector<Phrase>{{"a cycle"}, {"has ", " elements"}}));
  EXPECT_TRUE(mentions("x has 4 elements", phrases[1]));
  EXPECT_FALSE(mentions("elements has", phrases[1]));
}

}  // namespace
}  // namespace sinter::repo::boundary_reasons_test
