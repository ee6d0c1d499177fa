// tests/golden/ir/*.sinter are parsed and printed again; the files in errors/ give their expected
// errors. SINTER_BLESS=1 accepts the current output.
#include "ir/verify/verify.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/read_text.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::ir_text_test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(SINTER_SOURCE_DIR) / "tests/golden/ir";

/// The names, without ending, of the texts in `folder`.
std::vector<std::string> texts_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".sinter") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

void expect_golden(const fs::path& path, const std::string& actual) {
  if (std::getenv("SINTER_BLESS")) std::ofstream(path, std::ios::binary) << actual;
  EXPECT_EQ(test::read_text(path), actual) << "SINTER_BLESS=1 accepts the second into " << path;
}

class IrTextTest : public testing::TestWithParam<std::string> {};

TEST_P(IrTextTest, IsPrintedAsExpectedAndReadsBack) {
  const fs::path file = kFolder / (GetParam() + ".sinter");
  const Graph graph = parse(test::read_text(file), file.filename().string());
  verify(graph);
  const std::string printed = print(graph);
  const Graph again = parse(printed);
  verify(again);
  EXPECT_EQ(print(again), printed);
  expect_golden(kFolder / (GetParam() + ".printed"), printed);
}

class IrTextErrorTest : public testing::TestWithParam<std::string> {};

TEST_P(IrTextErrorTest, AllMistakesAreReported) {
  const fs::path file = kFolder / "errors" / (GetParam() + ".sinter");
  const std::string message =
      test::error_of([&] { parse(test::read_text(file), file.filename().string()); });
  expect_golden(kFolder / "errors" / (GetParam() + ".errors"), message + "\n");
}

std::string parameter_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Golden, IrTextTest, testing::ValuesIn(texts_in(kFolder)), parameter_name);
INSTANTIATE_TEST_SUITE_P(Golden, IrTextErrorTest, testing::ValuesIn(texts_in(kFolder / "errors")),
                         parameter_name);

}  // namespace
}  // namespace sinter::ir_text_test
