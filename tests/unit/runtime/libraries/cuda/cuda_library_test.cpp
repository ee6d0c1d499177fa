// The search for NVIDIA's libraries. Those of these tests are libraries of the system under other
// names.
#include "runtime/libraries/cuda/cuda_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/support/library_file.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::cuda_library_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kVersions[] = {"libsinter-none.so.13", "libsinter-none.so.12"};
constexpr const char* kFolders[] = {"nvidia/none/lib"};
constexpr CudaLibraryNames kNames{.variable = "SINTER_TEST_LIBRARY",
                                  .versions = kVersions,
                                  .plain = "libsinter-none.so",
                                  .wheel_folders = kFolders};

class CudaLibraryTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("SINTER_TEST_LIBRARY");
    unsetenv("CUDA_HOME");
  }

  /// Adds a library to the toolkit: a copy of one that this process has.
  std::string add(const std::string& name) {
    const std::filesystem::path file = folder_.path() + "/lib64/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::copy_file(library_file(dlopen("libz.so.1", RTLD_NOW)).path, file);
    setenv("CUDA_HOME", folder_.path().c_str(), 1);
    return file;
  }

  const test::ScratchFolder folder_;
};

TEST_F(CudaLibraryTest, AMissingLibraryWasNotFound) {
  const CudaLibrary library = open_cuda_library(kNames, 0, [](void*) { return ""; });
  EXPECT_EQ(library.handle, nullptr);
  EXPECT_EQ(library.reason, "was not found");
}

TEST_F(CudaLibraryTest, ANamedFileIsTheOnlyOne) {
  setenv("SINTER_TEST_LIBRARY", "/no/library.so", 1);
  const CudaLibrary library = open_cuda_library(kNames, 0, [](void*) { return ""; });
  EXPECT_THAT(library.reason,
              AllOf(StartsWith("cannot be opened (/no/library.so: "), EndsWith(")")));
}

TEST_F(CudaLibraryTest, TheNewestThatIsAcceptedIsTaken) {
  const std::string older = add("libsinter-none.so.12");
  const std::string newer = add("libsinter-none.so.13");
  const CudaLibrary first = open_cuda_library(kNames, 0, [](void*) { return ""; });
  EXPECT_EQ(first.path, newer);
  const CudaLibrary second = open_cuda_library(
      kNames, 0, [&](void* handle) { return handle == first.handle ? "is refused" : ""; });
  EXPECT_EQ(second.path, older);
  const CudaLibrary for_older_driver = open_cuda_library(kNames, 12, [](void*) { return ""; });
  EXPECT_EQ(for_older_driver.path, older);
}

TEST_F(CudaLibraryTest, ARefusedLibraryIsNamed) {
  const std::string file = add("libsinter-none.so");
  const CudaLibrary library = open_cuda_library(kNames, 0, [](void*) { return "is version 11"; });
  EXPECT_EQ(library.reason, "cannot be used: " + file + " is version 11");
}

}  // namespace
}  // namespace sinter::cuda_library_test
