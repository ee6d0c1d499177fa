// Checks that relative links in Markdown pages lead to files that exist, and that sources named in
// pages exist. tools/docs checks the anchors.
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

/// Sources that `page` names in backticks, and that do not exist. A name is the end of one of
/// `paths`, such as an include path, or a folder.
std::string missing_sources(const SourceFile& page, const std::vector<std::string>& paths) {
  static const std::regex source(R"(`([\w./]+\.(cpp|h|cuh|def|cmake|py))`)");
  static const std::regex folder(R"(`((ir|compiler|codegen|runtime|tests|bench|tools)/[\w/]+)`)");
  std::string offences;
  for (std::size_t i = 0; i < page.lines.size(); ++i)
    for (const std::regex* pattern : {&source, &folder})
      for (std::sregex_iterator it(page.lines[i].begin(), page.lines[i].end(), *pattern), end;
           it != end; ++it) {
        const std::string name = (*it)[1];
        const std::string ending = "/" + name;
        if (!std::filesystem::exists(source_root() / name) &&
            std::ranges::none_of(paths, [&](auto& path) { return path.ends_with(ending); }))
          offences += offence(page, i, "names " + name + ", which does not exist");
      }
  return offences;
}

TEST(LinksTest, RelativeLinksLeadToFiles) {
  std::string offences;
  for (const SourceFile& file : read_source_tree())
    if (file.path.ends_with(".md")) offences += broken_links(file);
  EXPECT_EQ(offences, "");
}

TEST(LinksTest, SourcesNamedInPagesExist) {
  const std::vector<SourceFile> files = read_source_tree();
  std::vector<std::string> paths = {"cuda/cuda_occupancy.h"};  // NVIDIA's
  for (const SourceFile& file : files) paths.push_back("/" + file.path);
  std::string offences;
  for (const SourceFile& file : files)
    if (file.path.ends_with(".md") && file.path != "CHANGELOG.md")
      offences += missing_sources(file, paths);
  EXPECT_EQ(offences, "");
}

TEST(LinksTest, ReportsAMissingSource) {
  EXPECT_EQ(missing_sources(
                {"docs/a.md", {"see `ir/gone.cpp`, `gone.h`, `ir/gone`, `x/here.h` and `here.h`"}},
                {"ir/x/here.h"}),
            "docs/a.md:1: names ir/gone.cpp, which does not exist\n"
            "docs/a.md:1: names gone.h, which does not exist\n"
            "docs/a.md:1: names ir/gone, which does not exist\n");
}

TEST(LinksTest, ReportsABrokenLink) {
  EXPECT_EQ(broken_links({"docs/a.md", {"see [x](nowhere.md#part)"}}),
            "docs/a.md:1: links to nowhere.md, which does not exist\n");
}

}  // namespace
}  // namespace sinter::repo::links_test
