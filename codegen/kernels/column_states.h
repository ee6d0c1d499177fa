// The states of columns that the blocks of a kernel of rows and columns hold: where they stand, and
// how they become one when the rows are done. In shared memory first, of the block and of the
// cluster; what is left in the workspace is joined by the last blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/kernels/row_passes.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

class ColumnStates {
 public:
  ColumnStates(KernelWriter& writer, RowPasses& passes, const Tree& over_rows);

  /// `name`_tree for each column, in the shared memory behind what is declared.
  void declare();
  /// The numbers of the split that a thread goes through, and of the states that it helps to leave.
  void declare_split();
  /// All splits are done: joins them, and stores what is made of them.
  void write();

  const std::vector<std::string>& names() const { return names_; }

 private:
  bool joins_in_block() const;
  std::string in_block(std::size_t column) const { return names_[column] + "_block"; }
  std::string in_workspace(std::size_t column) const { return names_[column] + "_splits"; }
  /// Of neighbouring columns: how many accesses there are to one state of each.
  std::int64_t accesses() const;
  void for_each_column(const std::function<void(std::size_t)>& inside) const;
  void write_held(const std::function<void(const std::string& at)>& inside);
  void for_each_access(const std::function<void()>& inside);
  void for_each_own_access(const std::function<void()>& inside);
  void declare_workspace();
  void write_joins_in_block();
  void write_joins_in_cluster();
  void write_last_blocks();
  std::string ticket(const std::string& number) const;
  void write_column();

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  SourceWriter& out_;
  RowPasses& passes_;
  Tree over_rows_;
  int levels_;          ///< of states that wait in shared memory
  int left_;            ///< states of a column in the workspace
  int per_group_;       ///< of these, joined by one block first
  int groups_;          ///< what is left then
  int neighbours_ = 1;  ///< columns whose states are moved at once
  std::string number_;  ///< of the states that a block leaves, alone or with its cluster
  std::vector<std::string> names_;       ///< of the columns' states
  std::vector<std::int64_t> in_shared_;  ///< where they begin
};

}  // namespace sinter
