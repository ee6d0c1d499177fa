// The table of the mutation test: one row per case and kind of instruction.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/mutation/tool/case_run.h"

namespace sinter::virtual_gpu::mutation {

struct Row {
  std::string name;  ///< of the case
  std::string kind;
  int instructions = 0;
  std::string caught = {};      ///< `race, fair: 3; result, random 1: 1`
  std::string not_caught = {};  ///< `2: idle rounds`, by the names of reasons; empty: none
  bool operator==(const Row&) const = default;
};

/// Why no check can catch the removal of an instruction.
struct Reason {
  std::string name, text;
};

/// Reads reasons.txt.
class Reasons {
 public:
  /// Throws UserError for a line that it does not understand.
  explicit Reasons(const std::string& file);
  const std::vector<Reason>& all() const { return reasons_; }
  /// The name of the reason for mutation `number` of a kernel of this case; empty if there is none.
  std::string find(const std::string& name, const std::string& kind, int number) const;

 private:
  struct Use {
    std::string name, kind;    ///< `*` at the end of the name: any rest
    std::vector<int> numbers;  ///< empty: all
    std::string reason;
  };
  std::vector<Reason> reasons_;
  std::vector<Use> uses_;
};

/// The rows of a case, in the order of MutationKind. Instructions that nothing caught and that have
/// no reason are added to `unexplained`.
std::vector<Row> rows_of(const Case& one, const std::vector<Examined>& outcomes,
                         const Reasons& reasons, std::vector<std::string>& unexplained);

/// The page with all rows.
std::string page_of(const std::vector<Row>& rows, const Reasons& reasons);

/// The rows of a page.
std::vector<Row> read_rows(std::string_view page);

}  // namespace sinter::virtual_gpu::mutation
