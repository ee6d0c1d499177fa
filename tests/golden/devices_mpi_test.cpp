// `sinter devices` tells whether the library sinter::mpi is beside the command.
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace sinter::test::devices_mpi_test {
namespace {

namespace fs = std::filesystem;

/// The lines about MPI of a copy of the command in `folder`/bin.
std::string mpi_lines(const std::string& folder) {
  return run_command("bin/sinter devices | grep -A1 '^mpi '", folder).output;
}

TEST(DevicesMpi, TellsWhetherTheLibraryIsBesideTheCommand) {
  if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  const ScratchFolder scratch;
  const std::string folder = fs::canonical(scratch.path()).string();
  fs::create_directory(folder + "/bin");
  fs::copy_file(command_path(), folder + "/bin/sinter");

  const std::string missing = mpi_lines(folder);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      missing, found,
      std::regex("^mpi +missing: collectives of host devices need (libsinter_mpi\\.so\\.[0-9.]+), "
                 "which is not in (/\\S+)\n +to fix it: install MPI \\(Debian: apt install "
                 "libopenmpi-dev openmpi-bin\\), build sinter again, and install its component "
                 "sinter_mpi\n")))
      << missing;
  const fs::path library = fs::path(found[2].str()) / found[1].str();
  ASSERT_TRUE(library.string().starts_with(folder + "/")) << library;

  fs::create_directories(library.parent_path());
  std::ofstream(library) << "";
  EXPECT_TRUE(mpi_lines(folder).starts_with("mpi           " + found[1].str() + ", " +
                                            found[2].str() + "\n"))
      << mpi_lines(folder);
}

}  // namespace
}  // namespace sinter::test::devices_mpi_test
