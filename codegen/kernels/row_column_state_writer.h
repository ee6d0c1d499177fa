// The column states of a kernel that reduces rows and columns, and how they are combined after the
// rows. Blocks and clusters combine their states in shared memory. The last blocks combine the
// remaining states in the workspace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/kernels/row_passes.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

class RowColumnStateWriter {
 public:
  RowColumnStateWriter(KernelWriter& writer, RowPasses& passes, const Tree& over_rows);

  /// Declares `NAME_tree` for each column reduction and reserves its shared memory.
  void declare();
  /// Declares `split`, the index of the split that a thread processes, and the index of the
  /// workspace states to which it contributes. Sets the grid and the cluster.
  void declare_split();
  /// After all splits: combines them and stores the column results.
  void write();

  const std::vector<std::string>& names() const { return names_; }

 private:
  bool combines_in_block() const;
  /// True if one block or cluster combines the states of all rows. Nothing is left to do in the
  /// workspace.
  bool combines_all() const { return workspace_states_ == 1 && combines_in_block(); }
  /// The type of the pointer to the states of a column reduction.
  std::string state_pointer(std::size_t column) const;
  std::string shared_name(std::size_t column) const { return names_[column] + "_block"; }
  std::string workspace_name(std::size_t column) const { return names_[column] + "_splits"; }
  /// The accesses that a block of a cluster makes, in shares that the blocks take in turn.
  struct OwnAccesses {
    std::string share;  ///< accesses of one share, as an expression
    std::string end;    ///< all accesses of a block, as an expression
    bool has_one_share = false;
    bool are_whole = false;  ///< no share ends behind the last access
  };
  OwnAccesses own_accesses() const;
  void for_each_column(const std::function<void(std::size_t)>& inside) const;
  void write_held();
  void for_each_access(const std::function<void()>& inside);
  void for_each_own_access(const std::function<void()>& inside);
  void declare_states();
  void declare_workspace(std::size_t column, Extent& offset);
  void write_combine_in_block();
  void write_combine_in_cluster();
  void write_last_blocks();
  /// The stores of the columns of one access, whose states `joined` combines for each reduction.
  void write_columns(const std::function<std::string(std::size_t)>& joined);
  std::string ticket(const std::string& number) const;
  void write_column();

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  SourceWriter& out_;
  RowPasses& passes_;
  Tree over_rows_;
  int levels_;            ///< tree levels whose states wait in shared memory
  int workspace_states_;  ///< states per column in the workspace
  int per_group_;         ///< states that the last block of a group combines
  int groups_;            ///< groups of states; the last block combines them
  int neighbours_ = 1;    ///< adjacent columns whose states one access moves
  /// The number of accesses, of `neighbours_` states each, to the states of all columns.
  std::string accesses_;
  std::string state_index_;         ///< index of the workspace states of this block or cluster
  std::vector<std::string> names_;  ///< the variables with the columns' states
  std::vector<std::int64_t> shared_offsets_;  ///< their offsets in shared memory, in bytes
};

}  // namespace sinter
