// Atomic writes of whole files, and writes to paths that a user names.
#include "runtime/support/atomic_file.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::atomic_file_test {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class NamedFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  test::ScratchFolder folder_;
};

/// Files that the reader would reject as too large are not written.
TEST(File, RejectsFilesLargerThanTheReadLimit) {
  const test::ScratchFolder folder;
  const std::string path = folder.path() + "/large";
  const std::size_t bytes = kLargestFile + 1;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span<const std::byte> file(static_cast<const std::byte*>(memory), bytes);
  EXPECT_EQ(write_whole_file(path, file, Durability::process), EFBIG);
  EXPECT_EQ(munmap(memory, bytes), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(NamedFile, TheFirstOfTwoWritersThatKeepFilesWins) {
  const auto write = [&](std::string_view text) {
    return write_whole_file(path("it"), bytes_of(text), Durability::power, FileReaders::user,
                            Existing::keep);
  };
  EXPECT_EQ(write("first"), 0);
  EXPECT_EQ(write("second"), EEXIST);
  EXPECT_EQ(test::read_text(path("it")), "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(path(".")), fs::directory_iterator()), 1);
  EXPECT_EQ(fs::hard_link_count(path("it")), 1U);
}

TEST_F(NamedFile, ReplacesAnExistingFile) {
  std::ofstream(path("it")) << "a longer text than the next";
  EXPECT_EQ(write_named_file(path("it"), bytes_of("next")), 0);
  EXPECT_EQ(test::read_text(path("it")), "next");
}

TEST_F(NamedFile, WritesThroughSymlinks) {
  fs::create_directory(path("there"));
  fs::create_symlink("there/second", path("first"));
  fs::create_symlink("real", path("there/second"));
  for (const std::string_view text : {"new", "again"}) {
    EXPECT_EQ(write_named_file(path("first"), bytes_of(text)), 0);
    EXPECT_TRUE(fs::is_symlink(path("first")));
    EXPECT_TRUE(fs::is_symlink(path("there/second")));
    EXPECT_EQ(test::read_text(path("there/real")), text);
  }
}

TEST_F(NamedFile, RejectsSymlinkCycles) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_EQ(write_named_file(path("a"), bytes_of("text")), ELOOP);
  EXPECT_TRUE(fs::is_symlink(path("a")));
  EXPECT_TRUE(fs::is_symlink(path("b")));
}

TEST_F(NamedFile, WritesIntoPipes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), S_IRUSR | S_IWUSR), 0);
  const File reader(open(path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  EXPECT_EQ(write_named_file(path("pipe"), bytes_of("text")), 0);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  std::array<char, 8> got = {};
  EXPECT_EQ(read(reader.descriptor(), got.data(), got.size()), 4);
  EXPECT_STREQ(got.data(), "text");
}

/// Contents that are written piece by piece, in any order.
TEST_F(NamedFile, AreFilledByAFunction) {
  const auto fill = [](const File& file) {
    const int error = write_all_at(file, bytes_of("end"), 4);
    return error != 0 ? error : write_all_at(file, bytes_of("the"), 0);
  };
  const std::string text("the\0end", 7);
  EXPECT_EQ(write_named_file(path("it"), fill), 0);
  EXPECT_EQ(test::read_text(path("it")), text);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), S_IRUSR | S_IWUSR), 0);
  const File reader(open(path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(write_named_file(path("pipe"), fill), 0);
  std::array<char, 8> got = {};
  EXPECT_EQ(read(reader.descriptor(), got.data(), got.size()), 7);
  EXPECT_EQ(std::string(got.data(), 7), text);
}

TEST_F(NamedFile, StaysIfItCannotBeFilled) {
  std::ofstream(path("it")) << "before";
  EXPECT_EQ(write_named_file(path("it"), [](const File&) { return ENOSPC; }), ENOSPC);
  EXPECT_THROW(write_named_file(path("it"), [](const File&) -> int { throw 7; }), int);
  EXPECT_EQ(test::read_text(path("it")), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path("it")).parent_path()), {}), 1);
}

TEST_F(NamedFile, RejectsFolders) {
  fs::create_directory(path("folder"));
  EXPECT_EQ(write_named_file(path("folder"), bytes_of("text")), EISDIR);
  EXPECT_EQ(write_named_file(path("no/file"), bytes_of("text")), ENOENT);
}

}  // namespace
}  // namespace sinter::atomic_file_test
