// Groups of nodes on their way to becoming kernels: membership, what each group reads and stores,
// and the order between groups.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/body.h"
#include "compiler/plan.h"
#include "ir/adt.h"
#include "ir/print.h"

namespace sinter {

/// Nodes that share a kernel. A cheap node may be in several groups; `home` names the one that
/// stores it.
struct Group {
  std::vector<const Node*> nodes;  ///< by ascending id
  int version = 0;                 ///< changes whenever the group does
  bool alive = true;
};

/// All groups of a graph. Views and free nodes belong to none: every reader looks through them.
class Groups {
 public:
  /// One group for each node that computes something, and one for each output that is only a view.
  explicit Groups(const GraphData& graph);

  int size() const { return static_cast<int>(groups_.size()); }
  const Group& operator[](int group) const { return groups_[static_cast<std::size_t>(group)]; }
  bool contains(int group, const Node* node) const;
  /// What `node` is called in the text of the graph.
  const std::string& name(const Node* node) const { return names_->of(node); }
  /// The group that stores `node`, or -1 for inputs.
  int home(const Node* node) const;
  /// The computed nodes and inputs that `node` reads, views looked through.
  std::span<const Node* const> reads(const Node* node) const;

  /// Nodes of `group` that others or the caller want.
  std::vector<const Node*> stores(int group) const;
  /// What `group` reads from memory.
  std::vector<const Node*> loads(int group) const;
  /// Groups that read what `group` stores, and groups whose stores it reads.
  std::vector<int> consumers(int group) const;
  std::vector<int> producers(int group) const;
  /// True if `node` is stored for anybody but `group` and the groups in `besides`.
  bool is_wanted_outside(const Node* node, int group, int besides) const;

  /// True if there is a way from `from` to `to` through at least one other group.
  bool has_detour(int from, int to) const;

  /// Moves everything of `from` into `into`.
  void merge(int into, int from);
  /// Lets `group` compute `nodes` itself instead of reading their results.
  void recompute(int group, std::span<const Node* const> nodes);
  /// Drops nodes of `group` that it no longer needs for what it stores.
  void drop_unused(int group);

  /// Body of the union of `a` and `b` (b = -1: of `a` alone).
  BodyAnswer body(int a, int b) const;

 private:
  void insert(int group, std::span<const Node* const> nodes);

  std::shared_ptr<const ValueNames> names_;  ///< shared: groups are copied to try things
  std::vector<Group> groups_;
  llvm::DenseMap<const Node*, int> home_;
  llvm::DenseMap<const Node*, llvm::SmallVector<int, 2>> groups_of_;
  llvm::DenseMap<const Node*, llvm::SmallVector<const Node*, 4>> reads_;
  llvm::DenseMap<const Node*, llvm::SmallVector<const Node*, 4>> users_;
  llvm::DenseSet<const Node*> wanted_;  ///< outputs and updates
  /// Of outputs that are not row-major, by what they are outputs of.
  llvm::DenseMap<const Node*, std::span<const Extent>> strides_;
};

}  // namespace sinter
