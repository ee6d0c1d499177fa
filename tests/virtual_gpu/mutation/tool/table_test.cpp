#include "tests/virtual_gpu/mutation/tool/table.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/error.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::virtual_gpu::mutation::table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Reasons reasons_of(const std::string& text) {
  const test::ScratchFolder folder;
  const std::string file = folder.path() + "/reasons.txt";
  std::ofstream(file) << text;
  return Reasons(file);
}

const std::string kReasons =
    "# A comment.\nlast round | No round follows.\n\n"
    "patterns/a | barrier | 2 4 | last round\nrun/* | fence | all | last round\n";

Examined examined(int number, const std::string& kind, const std::string& outcome) {
  return {.kernel = "k",
          .number = number,
          .kind = kind,
          .line = 7,
          .outcome = outcome,
          .schedule = "fair",
          .message = {}};
}

TEST(MutationTableTest, FindsReasonsByCaseKindAndNumber) {
  const Reasons reasons = reasons_of(kReasons);
  EXPECT_EQ(reasons.find("patterns/a", "barrier", 4), "last round");
  EXPECT_EQ(reasons.find("patterns/a", "barrier", 3), "");
  EXPECT_EQ(reasons.find("patterns/ab", "barrier", 4), "");
  EXPECT_EQ(reasons.find("patterns/a", "fence", 4), "");
  EXPECT_EQ(reasons.find("run/x of 3", "fence", 9), "last round");
}

TEST(MutationTableTest, RejectsOtherReasons) {
  const auto message_of = [](const std::string& text) {
    try {
      reasons_of(text);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message_of("a | b | c\n"), HasSubstr("3 fields instead of 2 or 4: a | b | c"));
  EXPECT_THAT(message_of("a | barrier | all | unknown\n"), HasSubstr("there is no reason unknown"));
}

TEST(MutationTableTest, HasOneRowPerKind) {
  std::vector<std::string> unexplained;
  const std::vector<Row> rows =
      rows_of({.name = "patterns/a", .text = {}},
              {examined(1, "fence", "race"), examined(2, "barrier", "nothing"),
               examined(3, "barrier", "race"), examined(5, "barrier", "nothing")},
              reasons_of(kReasons), unexplained);
  EXPECT_THAT(rows, ElementsAre(Row{.name = "patterns/a",
                                    .kind = "barrier",
                                    .instructions = 3,
                                    .caught = "race, fair: 1",
                                    .not_caught = ": 1; last round: 1"},
                                Row{.name = "patterns/a",
                                    .kind = "fence",
                                    .instructions = 1,
                                    .caught = "race, fair: 1",
                                    .not_caught = ""}));
  EXPECT_THAT(unexplained, ElementsAre("patterns/a: kernel k, barrier 5, line 7"));
}

TEST(MutationTableTest, ReadsItsOwnPage) {
  const std::vector<Row> rows = {{.name = "patterns/a",
                                  .kind = "barrier",
                                  .instructions = 3,
                                  .caught = "race, fair: 2",
                                  .not_caught = "last round: 1"},
                                 {.name = "patterns/b of 3",
                                  .kind = "grid wait",
                                  .instructions = 1,
                                  .caught = "race, random 1: 1",
                                  .not_caught = ""}};
  const std::string page = page_of(rows, reasons_of(kReasons));
  EXPECT_EQ(read_rows(page), rows);
  EXPECT_THAT(page, HasSubstr("| barrier | 3 | 2 | 1 |"));
  EXPECT_THAT(page, HasSubstr("- **last round**: No round follows."));
  EXPECT_THAT(read_rows(""), IsEmpty());
}

}  // namespace
}  // namespace sinter::virtual_gpu::mutation::table_test
