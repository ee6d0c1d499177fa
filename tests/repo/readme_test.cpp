// Checks README.md: its tour is part of examples/tour.cpp, its kernel is a golden kernel, and the
// programs that it names exist.
#include "tests/repo/source_tree.h"

#include <regex>

#include <gtest/gtest.h>

namespace sinter::repo::readme_test {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  return split_lines(test::read_text(source_root() / path));
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == line.npos ? "" : line.substr(first);
}

/// The lines of the first fenced block in `language`.
std::vector<std::string> block(const std::vector<std::string>& text, const std::string& language) {
  auto line = std::find(text.begin(), text.end(), "```" + language);
  std::vector<std::string> lines;
  while (line != text.end() && ++line != text.end() && *line != "```") lines.push_back(*line);
  return lines;
}

/// The first line of `part` that does not follow the previous lines of `part` in `whole`; "" if all
/// do.
std::string first_missing(const std::vector<std::string>& part,
                          const std::vector<std::string>& whole) {
  auto at = whole.begin();
  for (const std::string& line : part) {
    if (trimmed(line).empty()) continue;
    at = std::find_if(at, whole.end(),
                      [&](const std::string& each) { return trimmed(each) == trimmed(line); });
    if (at == whole.end()) return line;
    ++at;
  }
  return "";
}

bool is_program(const std::string& name) {
  const bool is_tests = name.starts_with("sinter_") && name.ends_with("_tests");
  return name == "sinter" || is_tests ||
         std::filesystem::exists(source_root() / "examples" / (name + ".cpp")) ||
         std::filesystem::exists(source_root() / "bench" / (name + ".cpp"));
}

TEST(ReadmeTest, TheTourIsThatOfTheExample) {
  const std::vector<std::string> tour = block(lines_of("README.md"), "cpp");
  ASSERT_GT(tour.size(), 20U);
  EXPECT_EQ(first_missing(tour, lines_of("examples/tour.cpp")), "");
}

TEST(ReadmeTest, TheKernelIsAGoldenOne) {
  const std::vector<std::string> kernel = block(lines_of("README.md"), "cuda");
  ASSERT_GT(kernel.size(), 15U);
  EXPECT_EQ(first_missing(kernel, lines_of("tests/golden/kernels/bias_relu.cu")), "");
}

TEST(ReadmeTest, EveryProgramThatItNamesIsThere) {
  static const std::regex program("build/release/bin/([a-z_]+)");
  int count = 0;
  for (const std::string& line : lines_of("README.md"))
    for (std::sregex_iterator it(line.begin(), line.end(), program), end; it != end; ++it, ++count)
      EXPECT_TRUE(is_program((*it)[1])) << line;
  EXPECT_GE(count, 3);
}

TEST(ReadmeTest, ReportsALineThatIsMissingOrOutOfOrder) {
  EXPECT_EQ(first_missing({"a", "", "  c"}, {"  a", "b", "c"}), "");
  EXPECT_EQ(first_missing({"c", "a"}, {"a", "b", "c"}), "a");
}

}  // namespace
}  // namespace sinter::repo::readme_test
