// The table of the mutation test: one row per case and kind of instruction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/mutation/tool/case_run.h"

namespace sinter::virtual_gpu::mutation {

struct Row {
  std::string name;  ///< of the case
  std::string kind;
  int instructions = 0;
  std::string caught = {};  ///< `race, fair: 3; result, random 1: 1`
  bool operator==(const Row&) const = default;
};

/// The rows of a case, in the order of MutationKind. Adds a message to `not_caught` for each
/// instruction that nothing caught.
std::vector<Row> rows_of(const Case& one, const std::vector<Examined>& outcomes,
                         std::vector<std::string>& not_caught);

/// The page with all rows.
std::string page_of(const std::vector<Row>& rows);

/// The rows of a page.
std::vector<Row> read_rows(std::string_view page);

}  // namespace sinter::virtual_gpu::mutation
