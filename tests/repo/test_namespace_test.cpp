// Checks that each test file has its own namespace, named after the file. A fresh build compiles
// several test files as one translation unit, and their helpers may have equal names.
#include "tests/repo/source_tree.h"

#include <regex>

#include <gtest/gtest.h>

namespace sinter::repo::test_namespace_test {
namespace {

std::string shared_namespaces(const std::vector<SourceFile>& files) {
  static const std::regex test_file(R"(tests/(?!memory/)[a-z]+/(?:\w+/)*(\w+_test)\.cpp)");
  static const std::regex opening(R"(namespace sinter(::\w+)* \{)");
  std::string offences;
  for (const SourceFile& file : files) {
    std::smatch name;
    if (!std::regex_match(file.path, name, test_file)) continue;
    const std::string own = "::" + name[1].str() + " {";
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (std::regex_match(file.lines[i], opening) && !file.lines[i].ends_with(own))
        offences += offence(file, i, "the namespace of a test ends in ::" + name[1].str());
  }
  return offences;
}

TEST(TestNamespaceTest, EachTestFileHasItsOwn) {
  EXPECT_EQ(shared_namespaces(read_source_tree()), "");
}

TEST(TestNamespaceTest, ReportsASharedOne) {
  const std::vector<SourceFile> files = {
      {"tests/unit/compiler/simplify/fold_test.cpp", {"", "namespace sinter {"}},
      {"tests/unit/fuse_test.cpp", {"namespace sinter::fuse_test {"}},
      {"tests/memory/lives_test.cpp", {"namespace sinter {"}},
      {"ir/fold.cpp", {"namespace sinter {"}},
  };
  EXPECT_EQ(shared_namespaces(files),
            "tests/unit/compiler/simplify/fold_test.cpp:2: the namespace of a test ends in "
            "::fold_test\n");
}

}  // namespace
}  // namespace sinter::repo::test_namespace_test
