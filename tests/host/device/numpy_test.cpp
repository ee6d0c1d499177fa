// Exchange of Arrays with NumPy, in a Python process that loads sinter.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/support/process.h"
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::numpy_test {
namespace {

constexpr int kNoNumpy = 77;  // exit code of the script without NumPy

/// Runs a script of tests/numpy with the arguments `words`. Skips the test if Python or NumPy is
/// missing.
void run_script(const std::string& script, std::string_view words) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  // tools/setup sets SINTER_NUMPY if python3 does not find NumPy itself.
  const char* const numpy = std::getenv("SINTER_NUMPY");
  const std::string line = std::string("export SINTER_CACHE=off\n") +
                           (numpy ? "export PYTHONPATH=\"$SINTER_NUMPY\"\n" : "") +
                           "exec python3 '" SINTER_SOURCE_DIR "/tests/numpy/" + script + "' " +
                           std::string(words) + " 2>&1";
  const std::array<std::string, 3> shell = {"/bin/sh", "-c", line};
  const ProcessResult result =
      run_process(shell, std::filesystem::temp_directory_path().string(), std::chrono::minutes(5));
  if (result.exit_code == kNoNumpy) GTEST_SKIP() << result.output;
  EXPECT_EQ(result.exit_code, 0) << result.output;
  std::printf("%s", result.output.c_str());
}

TEST(NumpyTest, SharesArraysInBothDirections) {
  constexpr std::string_view kModule = SINTER_NUMPY_MODULE;
  if (kModule.empty()) GTEST_SKIP() << "this build has no module that Python can load";
  run_script("dlpack.py", "'" + std::string(kModule) + "'");
}

TEST(NumpyTest, ExchangesFilesWithTheCommand) {
  if (test::command_path().empty()) GTEST_SKIP() << "this build has no command";
  const test::ScratchFolder folder;
  run_script("npy.py", "'" + test::command_path().string() + "' '" + folder.path() + "'");
}

}  // namespace
}  // namespace sinter::numpy_test
