// Names of values are unique, also if a model repeats one of them often.
#include "tools/onnx/values/names.h"

#include <gtest/gtest.h>

namespace sinter::test::names_test {
namespace {

using onnx::UniqueNames;

TEST(OnnxNames, RepeatedNamesGetNumbers) {
  UniqueNames names;
  EXPECT_EQ(names.add("a"), "a");
  EXPECT_EQ(names.add("a"), "a_2");
  EXPECT_EQ(names.add("a_3"), "a_3");
  EXPECT_EQ(names.add("a"), "a_4");
  EXPECT_EQ(names.add("a_3"), "a_3_2");
}

/// Inlined functions repeat the names in them.
TEST(OnnxNames, ManyRepetitionsTakeLittleTime) {
  UniqueNames names;
  std::string last;
  for (int i = 0; i < 200'000; ++i) last = names.add("y");
  EXPECT_EQ(last, "y_200000");
}

}  // namespace
}  // namespace sinter::test::names_test
