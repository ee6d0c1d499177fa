// Our Arrays in NumPy and NumPy's in ours, in a Python that loads us.
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

constexpr int kNoNumpy = 77;  // what the script answers

/// Runs a script of tests/numpy on these words, in a Python that finds NumPy if there is one.
void run_script(const std::string& script, std::string_view words) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  // tools/setup says where NumPy is if it is not where python3 looks.
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

TEST(NumpyTest, SharesArraysBothWays) {
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
