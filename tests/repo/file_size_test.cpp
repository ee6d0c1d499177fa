// Checks that files stay small: at most 500 lines each, with a median of at most 200.
#include "tests/repo/source_tree.h"

#include <gtest/gtest.h>

namespace sinter::repo::file_size_test {
namespace {

constexpr std::size_t kMostLines = 500;
constexpr std::size_t kMedianLines = 200;

bool is_code(const SourceFile& file) {
  const std::string extension = std::filesystem::path(file.path).extension().string();
  return extension != ".md" && extension != ".json" && extension != ".txt" &&
         extension != ".sinter" && file.path != "LICENSE";
}

std::string too_long(const std::vector<SourceFile>& files) {
  std::string offences;
  for (const SourceFile& file : files)
    if (is_code(file) && file.lines.size() > kMostLines)
      offences += offence(file, kMostLines,
                          std::to_string(file.lines.size()) + " lines, at most " +
                              std::to_string(kMostLines) + " are allowed");
  return offences;
}

TEST(FileSizeTest, NoFileHasMoreThan500Lines) { EXPECT_EQ(too_long(read_source_tree()), ""); }

TEST(FileSizeTest, TheMedianFileHasAtMost200Lines) {
  std::vector<std::size_t> sizes;
  for (const SourceFile& file : read_source_tree())
    if (is_code(file)) sizes.push_back(file.lines.size());
  ASSERT_FALSE(sizes.empty());
  std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 2, sizes.end());
  EXPECT_LE(sizes[sizes.size() / 2], kMedianLines);
}

TEST(FileSizeTest, ReportsALongFile) {
  const SourceFile file{"ir/long.cpp", std::vector<std::string>(501)};
  EXPECT_EQ(too_long({file}), "ir/long.cpp:501: 501 lines, at most 500 are allowed\n");
}

}  // namespace
}  // namespace sinter::repo::file_size_test
