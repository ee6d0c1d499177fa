// Checks that no file contains a path of the machine on which it was written.
#include "tests/repo/source_tree.h"

#include <regex>

#include <gtest/gtest.h>

namespace sinter::repo::machine_path_test {
namespace {

std::string machine_paths(const std::vector<SourceFile>& files) {
  static const std::regex path(R"((^|[^A-Za-z0-9_.}])/(work|root|home/[a-z]+)/)");
  std::string offences;
  for (const SourceFile& file : files)
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (std::smatch match; std::regex_search(file.lines[i], match, path))
        offences += offence(file, i, "names a machine's folder: " + match.str());
  return offences;
}

TEST(MachinePathTest, NoFileNamesAMachinesFolder) {
  EXPECT_EQ(machine_paths(read_source_tree()), "");
}

TEST(MachinePathTest, ReportsAHomeFolder) {
  const std::string line = std::string("see /home") + "/ada/kernel.cu";
  EXPECT_EQ(machine_paths({{"README.md", {"", line}}}),
            "README.md:2: names a machine's folder:  /home"
            "/ada/\n");
}

}  // namespace
}  // namespace sinter::repo::machine_path_test
