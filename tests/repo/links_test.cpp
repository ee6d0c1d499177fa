// Checks that relative links in Markdown pages lead to files that exist. tools/docs checks the
// anchors.
#include "tests/repo/source_tree.h"

#include <regex>

#include <gtest/gtest.h>

namespace sinter::repo::links_test {
namespace {

std::string broken_links(const SourceFile& page) {
  static const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  const std::filesystem::path folder = (source_root() / page.path).parent_path();
  std::string offences;
  bool in_code = false;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    if (page.lines[i].find("```") != std::string::npos) in_code = !in_code;
    if (in_code) continue;
    for (std::sregex_iterator it(page.lines[i].begin(), page.lines[i].end(), link), end; it != end;
         ++it) {
      const std::string target = (*it)[1];
      const bool is_built = target == "api/index.html";  // by Doxygen
      if (target.find("://") != target.npos || is_built) continue;
      if (!std::filesystem::exists(folder / target))
        offences += offence(page, i, "links to " + target + ", which does not exist");
    }
  }
  return offences;
}

TEST(LinksTest, RelativeLinksLeadToFiles) {
  std::string offences;
  for (const SourceFile& file : read_source_tree())
    if (file.path.ends_with(".md")) offences += broken_links(file);
  EXPECT_EQ(offences, "");
}

TEST(LinksTest, ReportsABrokenLink) {
  EXPECT_EQ(broken_links({"docs/a.md", {"see [x](nowhere.md#part)"}}),
            "docs/a.md:1: links to nowhere.md, which does not exist\n");
}

}  // namespace
}  // namespace sinter::repo::links_test
