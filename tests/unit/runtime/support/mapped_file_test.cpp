// Files in memory.
#include "runtime/support/mapped_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/files/scratch_folder.h"

namespace sinter::mapped_file_test {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, HasTheBytesOfAFile) {
  const test::ScratchFolder folder;
  const std::string path = folder.path() + "/it";
  std::ofstream(path) << "some text";
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  const MappedFile file(path);
  EXPECT_EQ(file.error(), 0);
  EXPECT_EQ(text_of(file), "some text");
  EXPECT_EQ(file.owner(), geteuid());
  EXPECT_TRUE(file.others_can_write());
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(file), "some text") << "the mapping keeps them";
}

TEST(MappedFile, MayBeEmpty) {
  const test::ScratchFolder folder;
  std::ofstream(folder.path() + "/it").flush();
  const MappedFile file(folder.path() + "/it");
  EXPECT_EQ(file.error(), 0);
  EXPECT_TRUE(file.bytes().empty());
}

TEST(MappedFile, ReportsWhatCannotBeMapped) {
  const test::ScratchFolder folder;
  EXPECT_EQ(MappedFile(folder.path() + "/none").error(), ENOENT);
  EXPECT_EQ(MappedFile(folder.path()).error(), EINVAL);
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_EQ(MappedFile(folder.path() + "/pipe").error(), EINVAL);
  EXPECT_TRUE(MappedFile(folder.path()).bytes().empty());
}

}  // namespace
}  // namespace sinter::mapped_file_test
