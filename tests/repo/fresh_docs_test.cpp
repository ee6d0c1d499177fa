// The op reference in ir/README.md says what the op table says. SINTER_BLESS=1 rewrites it.
#include "ir/reference.h"
#include "sinter/text.h"
#include "tests/repo/source_tree.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace sinter::repo {
namespace {

constexpr std::string_view kBegin = "<!-- ops:begin -->\n";
constexpr std::string_view kEnd = "<!-- ops:end -->\n";

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Where `section`, which follows `head` in ir/README.md, leaves the op reference; empty if
/// nowhere.
std::string first_difference(const std::string& head, const std::string& section) {
  const std::vector<std::string> wanted = split_lines(op_reference());
  const SourceFile readme{"ir/README.md", split_lines(head + section)};
  const std::size_t first = split_lines(head).size();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (first + i >= readme.lines.size() || readme.lines[first + i] != wanted[i])
      return offence(readme, first + i,
                     "the op table says \"" + wanted[i] +
                         "\"; SINTER_BLESS=1 bin/sinter_repo_tests rewrites the reference");
  if (readme.lines.size() > first + wanted.size())
    return offence(readme, first + wanted.size(), "is no line of the op reference");
  return "";
}

TEST(FreshDocsTest, TheOpReferenceIsThatOfTheTable) {
  const std::filesystem::path readme = source_root() / "ir/README.md";
  const std::string text = read_text(readme);
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end)
      << "ir/README.md lacks the lines " << kBegin << "and " << kEnd;
  const std::size_t first = begin + kBegin.size();
  if (std::getenv("SINTER_BLESS")) {
    std::ofstream(readme, std::ios::binary)
        << text.substr(0, first) << op_reference() << text.substr(end);
    return;
  }
  EXPECT_EQ(first_difference(text.substr(0, first), text.substr(first, end - first)), "");
}

TEST(FreshDocsTest, TheExampleOfTheTextFormIsRead) {
  const std::string text = read_text(source_root() / "ir/README.md");
  const std::size_t begin = text.find("```\ngraph ") + 4;
  const std::size_t end = text.find("```", begin);
  ASSERT_LT(begin, end);
  const std::string printed = print(parse(text.substr(begin, end - begin), "ir/README.md"));
  EXPECT_EQ(print(parse(printed)), printed);
}

TEST(FreshDocsTest, ReportsAStaleLine) {
  const std::string stale = "\n| elementwise | operands |\n";
  EXPECT_EQ(first_difference("# ir\n", stale).substr(0, 33), "ir/README.md:3: the op table says");
}

}  // namespace
}  // namespace sinter::repo
