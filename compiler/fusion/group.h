// Groups of nodes on their way to becoming kernels: membership, what each group reads and stores,
// and the order between groups.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/cost/group_shape.h"
#include "compiler/program/kernel.h"
#include "ir/support/dense_map.h"
#include "ir/text/print.h"

namespace sinter {

using Nodes = llvm::SmallVector<const Node*, 2>;
/// Orders them by id, each once.
void sort_unique(Nodes& nodes);
/// Some groups.
using GroupNumbers = llvm::SmallVector<int, 12>;

/// Nodes that share a kernel. A cheap node may be in several groups; `home` names the one that
/// stores it.
struct Group {
  Nodes nodes;      ///< by ascending id, as the other two
  Nodes loads;      ///< what it reads from memory
  Nodes stores;     ///< its nodes that others or the caller want
  int version = 0;  ///< changes whenever the group does
  int place = 0;    ///< groups that it reads from have smaller ones
  bool alive = true;
  /// The results of an opaque call: merged with nothing.
  bool is_call = false;
  /// A concat whose segments are stored in their places by the kernels that compute them: no
  /// kernel.
  bool is_placed = false;
  GroupShape group_shape;  ///< how its nodes read one another
};

/// All groups of a graph. Views and free nodes belong to none: every reader looks through them.
class Groups {
 public:
  enum class Begin {
    apart,   ///< one group for each node
    joined,  ///< elementwise ops with the one group that reads them
  };
  /// Groups of all nodes that compute something (one of all results of an opaque call), and of the
  /// outputs, and operands of calls, that are only views or numbers. `names` are those of `graph`;
  /// what is done is counted in `work`.
  Groups(const GraphData& graph, LazyValueNames& names, PlanWork& work, Begin begin);

  int size() const { return static_cast<int>(groups_.size()); }
  const Group& operator[](int group) const { return groups_[static_cast<std::size_t>(group)]; }
  bool contains(int group, const Node* node) const { return contains(group, value(node)); }
  /// What `node` is called in the text of the graph.
  std::string name(const Node* node) const;
  /// The group that stores `node`; it computes it. -1 for inputs and what nobody computes any more.
  int home(const Node* node) const { return value(node).home; }
  /// The computed nodes and inputs that `node` reads, views looked through.
  std::span<const Node* const> reads(const Node* node) const {
    return {reads_.data() + first_read_[node->id], reads_.data() + first_read_[node->id + 1]};
  }
  /// True if the caller wants `node`, as an output or to update an input.
  bool is_result(const Node* node) const { return value(node).is_result; }

  /// True if an opaque call reads `node`, which then must be in memory whole and row-major.
  bool is_call_operand(const Node* node) const { return value(node).is_call_operand; }
  /// True if `group` is what it is for good.
  bool has_own_kernel(int group) const { return (*this)[group].is_placed || (*this)[group].is_call; }

  /// True if a node of `group` other than `nodes` reads `node`.
  bool is_read_besides(int group, const Node* node, std::span<const Node* const> nodes) const;
  /// Groups that read what `group` stores, and groups whose stores it reads.
  GroupNumbers consumers(int group) const;
  GroupNumbers producers(int group) const;
  /// The same, each once and in no order.
  void visit_consumers(int group, auto visit) {
    const std::uint32_t search = ++search_;
    for (const Node* node : (*this)[group].stores)
      for (const Node* user : users(node))
        for (const int reader : value(user).groups)
          if (reader != group && !contains(reader, node) && !is_seen(reader, search)) visit(reader);
  }
  void visit_producers(int group, auto visit) {
    const std::uint32_t search = ++search_;
    for (const Node* node : (*this)[group].loads)
      if (const int from = home(node); from >= 0 && from != group && !is_seen(from, search))
        visit(from);
  }
  /// True if `node` is stored for anybody but `group` and the groups in `besides`.
  bool is_wanted_outside(const Node* node, int group, int besides) const;
  /// True if several groups compute `node`.
  bool is_recomputed(const Node* node) const { return value(node).groups.size() > 1; }
  /// True if other groups than `group` read `node` or compute it too.
  bool is_wanted_beside(const Node* node, int group) const;
  /// Arrays that a kernel of `group` reads and writes.
  std::size_t arguments(int group) const;
  /// Groups that read `node`, which `group` stores.
  GroupNumbers readers(int group, const Node* node) const;
  /// The nodes of `group` that read `node`.
  Nodes readers_within(int group, const Node* node) const;
  /// What one kernel of two groups reads and writes.
  struct UnionTraffic {
    std::size_t arguments = 0;  ///< arrays
    /// Bytes that do not cross memory any more: what both read, and what `b` reads of `a`.
    double saved = 0;
  };
  UnionTraffic union_traffic(int a, int b, NodeSizes& sizes) {
    set_focus(a);
    return union_traffic_with(b, b, sizes);
  }
  /// Makes `union_traffic_with` cheap for one `group` and many others, as long as nothing changes.
  void set_focus(int group);
  /// The union_traffic of the faced group and `other`; `b` is the one of them that reads.
  UnionTraffic union_traffic_with(int other, int b, NodeSizes& sizes);
  /// How the nodes of both read one another.
  GroupShape group_shape(int a, int b) const {
    return merged_shape((*this)[a].group_shape, (*this)[b].group_shape);
  }

  /// What is known of ways between two groups through at least one other.
  enum class Detour { none, some, too_far_to_tell };
  struct Between {
    Detour detour = Detour::none;
    // Where there is none:
    GroupNumbers before;  ///< groups in between that the later one waits for
    GroupNumbers after;   ///< groups that wait for the earlier one, among those
  };
  Between between(int a, int b);
  /// Finds the longest chain of groups anew, along which `between` sees far. To be called when
  /// nodes may have been recomputed or dropped: that cuts ways.
  void find_chain();

  /// Moves everything of `from` into `into`; without a detour `between` them.
  void merge(int into, int from, Between between);
  /// Lets `group` compute `nodes` itself instead of reading their results.
  void recompute(int group, std::span<const Node* const> nodes);
  /// Lets `to` compute and store `nodes`, which `from` alone computes of what `to` stores, so that
  /// `from` reads them instead.
  void sink(std::span<const Node* const> nodes, int from, int to);
  /// Drops nodes of `group` that it no longer needs for what it stores.
  void drop_unused(int group);
  /// Lets the homes of `nodes`, which have lost a reader, store no more than is wanted.
  void remove_reader(std::span<const Node* const> nodes);

  /// `group` is a concat that needs no kernel.
  void place(int group) { at(group).is_placed = true; }

  /// Some groups as they are. What `recompute`, `sink` and `drop_unused` then do can be taken
  /// back, until the next snapshot.
  struct Snapshot {
    std::vector<int> numbers;
    std::vector<Group> groups;
  };
  Snapshot snapshot(std::span<const int> groups);
  /// Takes back what was recomputed and dropped in the groups of `before` since then.
  void restore(Snapshot before);

  /// What a kernel of `a` and `b` (b = -1: of `a` alone) computes and stores.
  struct Whole {
    Nodes nodes;
    llvm::SmallVector<StoreRequest, 2> stores;
  };
  Whole whole(int a, int b = -1) const;
  /// What is asked of its body, as long as `whole` is there.
  BodyRequest request(const Whole& whole) const;
  /// `names` gives the words of messages.
  BodyAnswer body(const Whole& whole, const NodeNames& names) const;

 private:
  /// What is kept of a node, in one place: pairs of groups are compared by what they load.
  struct Value {
    llvm::SmallVector<int, 2> groups;  ///< that compute it
    double bytes = -1;                 ///< negative: nobody has asked yet
    int home = -1;
    std::uint32_t loaders = 0;  ///< how many groups load it
    std::uint32_t mark = 0;     ///< the latest search that met it
    bool is_result = false;
    bool is_call_operand = false;
  };
  Value& value(const Node* node) { return values_[node->id]; }
  const Value& value(const Node* node) const { return values_[node->id]; }
  static bool contains(int group, const Value& value) {
    if (value.home == group) return true;
    return value.groups.size() > 1 && std::ranges::find(value.groups, group) != value.groups.end();
  }
  static double bytes(Value& value, const Node* node, NodeSizes& sizes) {
    if (value.bytes < 0) value.bytes = sizes.bytes(*node);
    return value.bytes;
  }

  Group& at(int group) { return groups_[static_cast<std::size_t>(group)]; }
  std::span<const Node* const> users(const Node* node) const {
    return {users_.data() + first_user_[node->id], users_.data() + first_user_[node->id + 1]};
  }
  /// True if this search has asked so of `group` before.
  bool is_seen(int group, std::uint32_t search) {
    return std::exchange(seen_[static_cast<std::size_t>(group)], search) == search;
  }
  void find_results(std::span<const Node* const> nodes);
  /// What each node reads. Returns those that have groups, of opaque calls the first result.
  std::vector<const Node*> find_reads(std::span<const Node* const> nodes);
  /// True if none of `nodes` is an earlier result of the opaque call that `node` is one of.
  bool is_first_of_call(const Node* node, std::span<const Node* const> nodes) const;
  void find_users(std::span<const Node* const> firsts);
  void add_groups(std::span<const Node* const> firsts, Begin begin);
  /// By place in `firsts`: the place of the last node of the group that each of them begins in.
  std::vector<std::uint32_t> find_last_nodes(std::span<const Node* const> firsts,
                                             std::span<const GroupShape> group_shape, Begin begin);
  /// Adds a result of an opaque call to the group of the first one.
  void join_call(const Node* node);
  void join_group(const Node* node, int group);
  void leave_group(const Node* node, int group);
  void find_loads(int group);
  void count_loads(int group, int by);
  void find_stores(int group);
  /// `node` may have lost a reader outside of `group`, its home.
  void drop_unwanted_store(int group, const Node* node);

  /// True if `group` waits for `first` by way of the chain; false says nothing.
  bool is_before(int first, int group) const {
    return chain_after_[static_cast<std::size_t>(first)] <=
           chain_before_[static_cast<std::size_t>(group)];
  }
  /// Adds the groups behind `first` that `group` waits for, unless one of them waits for `first` or
  /// they are too many to look at.
  Detour ancestors(int group, int first, GroupNumbers& found);
  /// Adds the groups before the place `last` that wait for `group`; false if they are too many.
  bool descendants(int group, int last, GroupNumbers& found);
  /// Gives `into`, which is becoming the union of both, a place that fits all others.
  void find_place(int into, int from, Between between);
  int last_place(std::span<const int> groups) const;

  const GraphData& graph_;
  LazyValueNames& names_;
  PlanWork& work_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> seen_;  ///< the latest search that met it, by group
  std::uint32_t search_ = 0;
  std::vector<Value> values_;  ///< by id of the node
  int focused_ = -1;
  std::uint32_t focus_mark_ = 0;  ///< the search that marks what the faced group loads
  GroupNumbers homes_of_loads_;   ///< of the faced group
  Nodes shared_loads_;            ///< of the faced group, what more than one group computes
  /// Where a node was before it joined or left a group.
  struct Membership {
    const Node* node;
    int home;
    llvm::SmallVector<int, 2> groups;
  };
  std::vector<Membership> changes_;  ///< since the latest snapshot
  // By group: the last link of the chain that it waits for, and the first one that waits for it;
  // a link is both itself.
  std::vector<int> chain_before_, chain_after_;
  // By id of the node: where its begin; one more at the end.
  std::vector<std::uint32_t> first_read_, first_user_;
  std::vector<const Node*> reads_, users_;
  /// Of outputs that are not row-major, by what they are outputs of.
  DenseMap<const Node*, std::span<const Extent>> strides_;
};

}  // namespace sinter
