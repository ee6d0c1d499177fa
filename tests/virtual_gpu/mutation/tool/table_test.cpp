#include "tests/virtual_gpu/mutation/tool/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::virtual_gpu::mutation::table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Examined examined(int number, const std::string& kind, const std::string& outcome) {
  return {.kernel = "k",
          .number = number,
          .kind = kind,
          .line = 7,
          .outcome = outcome,
          .schedule = "fair",
          .message = {}};
}

TEST(MutationTableTest, HasOneRowPerKind) {
  std::vector<std::string> not_caught;
  const std::vector<Row> rows =
      rows_of({.name = "patterns/a", .text = {}},
              {examined(1, "fence", "race"), examined(2, "barrier", "nothing"),
               examined(3, "barrier", "race")},
              not_caught);
  EXPECT_THAT(rows, ElementsAre(Row{.name = "patterns/a",
                                    .kind = "barrier",
                                    .instructions = 2,
                                    .caught = "race, fair: 1"},
                                Row{.name = "patterns/a",
                                    .kind = "fence",
                                    .instructions = 1,
                                    .caught = "race, fair: 1"}));
  EXPECT_THAT(not_caught,
              ElementsAre(HasSubstr(
                  "patterns/a: nothing shows that barrier 2 of kernel k, line 7, is missing")));
}

TEST(MutationTableTest, ReadsItsOwnPage) {
  const std::vector<Row> rows = {{.name = "patterns/a",
                                  .kind = "barrier",
                                  .instructions = 3,
                                  .caught = "race, fair: 2"},
                                 {.name = "patterns/b of 3",
                                  .kind = "grid wait",
                                  .instructions = 1,
                                  .caught = "race, random 1: 1"}};
  const std::string page = page_of(rows);
  EXPECT_EQ(read_rows(page), rows);
  EXPECT_THAT(page, HasSubstr("| barrier | 3 | 2 | 1 |"));
  EXPECT_THAT(read_rows(""), IsEmpty());
}

}  // namespace
}  // namespace sinter::virtual_gpu::mutation::table_test
