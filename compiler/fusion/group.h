// Groups of nodes that fusion turns into kernels: their nodes, loads and stores, and the
// topological order of the groups.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/body/body_request.h"
#include "compiler/cost/group_pattern.h"
#include "compiler/program/kernel.h"
#include "ir/support/dense_map.h"
#include "ir/text/print.h"

namespace sinter {

using Nodes = llvm::SmallVector<const Node*, 2>;
/// Sorts by id and removes duplicates.
void sort_unique_by_id(Nodes& nodes);
/// Indices of groups.
using GroupNumbers = llvm::SmallVector<int, 12>;

/// Nodes that share a kernel. A cheap node may be in several groups; Groups::home returns the group
/// that stores it.
struct Group {
  Nodes nodes;       ///< by ascending id, like the next two
  Nodes loads;       ///< values that it reads from memory
  Nodes stores;      ///< its nodes that other groups or the caller read
  int version = 0;   ///< changes whenever the group does
  int position = 0;  ///< topological position: larger than those of its producers
  bool alive = true;
  /// The results of an opaque call, which merge with nothing.
  bool is_call = false;
  /// A concat that needs no kernel: the kernels that compute its segments store them in its buffer.
  bool is_placed = false;
  GroupPattern pattern;  ///< how its nodes read one another
};

/// All groups of a graph. Views and free nodes belong to no group: readers look through them.
class Groups {
 public:
  enum class InitialGroups {
    single_nodes,  ///< one group per node
    fanout_free,   ///< elementwise ops start in the only group that reads them
  };
  /// Groups all nodes that compute something. The results of one opaque call form one group.
  /// Outputs and operands of calls that are only views or numbers are grouped too. `names` are
  /// those of `graph`; `work` counts the work done.
  Groups(const GraphData& graph, LazyValueNames& names, PlanWork& work, InitialGroups initial);

  int size() const { return static_cast<int>(groups_.size()); }
  const Group& operator[](int group) const { return groups_[static_cast<std::size_t>(group)]; }
  bool contains(int group, const Node* node) const { return contains(group, value(node)); }
  /// The name of `node` in the text of the graph.
  std::string name(const Node* node) const;
  /// The group that computes and may store `node`; -1 for inputs and for nodes that no group
  /// computes any more.
  int home(const Node* node) const { return value(node).home; }
  /// The computed nodes and inputs that `node` reads, directly or through views.
  std::span<const Node* const> reads(const Node* node) const {
    return {reads_.data() + first_read_[node->id], reads_.data() + first_read_[node->id + 1]};
  }
  /// True if `node` is an output, the new value of an input, or an operand of an opaque call.
  bool is_result(const Node* node) const { return value(node).is_result; }

  /// True if an opaque call reads `node`, which must then be a whole row-major array in memory.
  bool is_call_operand(const Node* node) const { return value(node).is_call_operand; }
  /// True if `group` never merges: an opaque call or a placed concat.
  bool has_own_kernel(int group) const {
    return (*this)[group].is_placed || (*this)[group].is_call;
  }

  /// True if a node of `group` other than `nodes` reads `node`.
  bool has_other_reader(int group, const Node* node, std::span<const Node* const> nodes) const;
  /// The groups that read the stores of `group`, and the groups whose stores it reads, sorted.
  GroupNumbers consumers(int group) { return readers(group, (*this)[group].stores); }
  GroupNumbers producers(int group);
  /// The groups that read any of `nodes`, which `group` stores, sorted.
  GroupNumbers readers(int group, std::span<const Node* const> nodes);
  /// Visit consumers and producers, each once, in any order.
  void visit_consumers(int group, auto visit) {
    visit_readers(group, (*this)[group].stores, visit);
  }
  void visit_producers(int group, auto visit) {
    const std::uint32_t search = ++search_;
    for (const Node* node : (*this)[group].loads)
      if (const int from = home(node); from >= 0 && from != group && !is_seen(from, search))
        visit(from);
  }
  /// True if `node` is a result, or a group other than `group` and `partner` loads it.
  bool is_needed_outside(const Node* node, int group, int partner = -1) const;
  /// True if several groups compute `node`.
  bool is_recomputed(const Node* node) const { return value(node).groups.size() > 1; }
  /// True if groups other than `group` read or compute `node`.
  bool is_used_by_others(const Node* node, int group) const;
  /// The number of arrays that a kernel of `group` reads and writes.
  std::size_t arguments(int group) const {
    return (*this)[group].stores.size() + (*this)[group].loads.size();
  }
  /// The nodes of `group` that read `node`.
  Nodes readers_within(int group, const Node* node) const;
  /// The traffic of one kernel of two groups.
  struct UnionTraffic {
    std::size_t arguments = 0;  ///< arrays
    /// Bytes that no longer cross memory: arrays that both read, and arrays that `b` reads from
    /// `a`.
    double saved = 0;
  };
  UnionTraffic union_traffic(int a, int b, NodeSizes& sizes) {
    set_focus(a);
    return union_traffic_with(b, b, sizes);
  }
  /// Makes `union_traffic_with` cheap for one `group` and many others, until a group changes.
  void set_focus(int group);
  /// The union traffic of the group with the focus and `other`; `b` is the consumer of the two.
  UnionTraffic union_traffic_with(int other, int b, NodeSizes& sizes);
  /// The contents of a kernel of `group`.
  KernelContents contents(int group, NodeSizes& sizes) const;
  /// The pattern of the union of both.
  GroupPattern union_pattern(int a, int b) const {
    return merged_pattern((*this)[a].pattern, (*this)[b].pattern);
  }

  /// The knowledge about paths between two groups through other groups, which forbid a merge.
  enum class Detour { none, some, too_far_to_tell };
  struct Between {
    Detour detour = Detour::none;
    // If there is no detour:
    GroupNumbers before;  ///< groups in between that the later one depends on
    GroupNumbers after;   ///< groups in between that depend on the earlier one
  };
  Between between(int a, int b);
  /// Recomputes the longest chain of groups, which lets `between` answer many queries at once. Must
  /// be called after nodes were recomputed or dropped, because that removes paths.
  void find_chain();

  /// Merges `from` into `into`. Needs: `between` shows no detour.
  void merge(int into, int from, Between between);
  /// Lets `group` compute `nodes` itself instead of loading their results.
  void recompute(int group, std::span<const Node* const> nodes);
  /// Moves `nodes` from group `from` to group `to`, whose stores they read. `to` then stores those
  /// that `from` still reads. Needs: only `from` computes them.
  void sink(std::span<const Node* const> nodes, int from, int to);
  /// Drops nodes of `group` that its stores no longer need.
  void drop_unused(int group);
  /// Removes stores that are no longer needed, after `nodes` lost a reader.
  void remove_reader(std::span<const Node* const> nodes);

  /// Marks `group` as a concat that needs no kernel.
  void mark_placed(int group) { at(group).is_placed = true; }

  /// The state of some groups. `restore` undoes later changes by `recompute`, `sink` and
  /// `drop_unused`, until the next snapshot.
  struct Snapshot {
    std::vector<int> numbers;
    std::vector<Group> groups;
  };
  Snapshot snapshot(std::span<const int> groups);
  /// Resets the groups of `before` to that state.
  void restore(Snapshot before);

  /// The nodes and stores of a kernel of `a` and `b` (b = -1: of `a` alone).
  struct KernelNodes {
    Nodes nodes;
    llvm::SmallVector<StoreRequest, 2> stores;
  };
  KernelNodes kernel_nodes(int a, int b = -1) const;
  /// The body request of `kernel`, to which it refers.
  BodyRequest request(const KernelNodes& kernel) const;
  /// Builds the body of `kernel`. `names` returns the names of values for messages.
  BodyAnswer body(const KernelNodes& kernel, const NodeNames& names) const;

 private:
  /// The state of a node. It is in one struct because comparing pairs of groups reads it often.
  struct Value {
    llvm::SmallVector<int, 2> groups;  ///< that compute it
    double bytes = -1;                 ///< negative: not computed yet
    int home = -1;
    std::uint32_t loaders = 0;  ///< how many groups load it
    std::uint32_t mark = 0;     ///< the latest search that visited it
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
  /// Marks `group` as visited by `search`. Returns true if it was visited before.
  bool is_seen(int group, std::uint32_t search) {
    return std::exchange(seen_[static_cast<std::size_t>(group)], search) == search;
  }
  void visit_readers(int group, std::span<const Node* const> nodes, auto visit) {
    const std::uint32_t search = ++search_;
    for (const Node* node : nodes)
      for (const Node* user : users(node))
        for (const int reader : value(user).groups)
          if (reader != group && !contains(reader, node) && !is_seen(reader, search)) visit(reader);
  }
  void find_results(std::span<const Node* const> nodes);
  /// Finds the nodes that each node reads. Returns the nodes that get groups; of each opaque call
  /// only the first result.
  std::vector<const Node*> find_reads(std::span<const Node* const> nodes);
  /// True if none of `nodes` is an earlier result of the opaque call that `node` is one of.
  bool is_first_of_call(const Node* node, std::span<const Node* const> nodes) const;
  void find_users(std::span<const Node* const> firsts);
  void add_groups(std::span<const Node* const> firsts, InitialGroups initial);
  /// For each of `firsts`: the index in `firsts` of the last node of its initial group.
  std::vector<std::uint32_t> find_last_nodes(std::span<const Node* const> firsts,
                                             std::span<const GroupPattern> patterns,
                                             InitialGroups initial);
  /// Adds a result of an opaque call to the group of the call's first result.
  void add_to_call_group(const Node* node);
  void add_to_group(const Node* node, int group);
  void remove_from_group(const Node* node, int group);
  void find_loads(int group);
  void count_loads(int group, int by);
  void find_stores(int group);
  /// Removes the store of `node` from `group`, its home, if no other group reads it any more.
  void drop_unneeded_store(int group, const Node* node);

  /// True if the chain shows that `group` depends on `first`; false: unknown.
  bool is_before(int first, int group) const {
    return chain_after_[static_cast<std::size_t>(first)] <=
           chain_before_[static_cast<std::size_t>(group)];
  }
  /// Adds the groups after the position of `first` on which `group` depends. Stops if one of them
  /// depends on `first`, or if there are too many to visit.
  Detour ancestors(int group, int first, GroupNumbers& found);
  /// Adds the groups before position `last` that depend on `group`; false if there are too many.
  bool descendants(int group, int last, GroupNumbers& found);
  /// Gives `into`, which becomes the union, a topological position. Moves other groups if needed.
  void assign_position(int into, int from, Between between);
  int last_position(std::span<const int> groups) const;

  const GraphData& graph_;
  LazyValueNames& names_;
  PlanWork& work_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> seen_;  ///< the latest search that visited it, by group
  std::uint32_t search_ = 0;
  std::vector<Value> values_;  ///< by id of the node
  int focused_ = -1;
  std::uint32_t focus_mark_ = 0;  ///< the search that marks the loads of the group with the focus
  GroupNumbers homes_of_loads_;   ///< of the group with the focus
  Nodes shared_loads_;            ///< those that several groups compute
  /// The groups of a node before it is added to or removed from a group.
  struct Membership {
    const Node* node;
    int home;
    llvm::SmallVector<int, 2> groups;
  };
  std::vector<Membership> changes_;  ///< since the latest snapshot
  // By group: the last link of the chain that it depends on, and the first link that depends on it.
  // For a link, both are the link itself.
  std::vector<int> chain_before_, chain_after_;
  // By node id: its first index in `reads_` and `users_`; one more entry at the end.
  std::vector<std::uint32_t> first_read_, first_user_;
  std::vector<const Node*> reads_, users_;
  // By node: the strides of its first output, unless it is row-major. Then those of further outputs,
  // and of inputs that a result also updates (empty: row-major).
  DenseMap<const Node*, std::span<const Extent>> strides_;
  DenseMap<const Node*, llvm::SmallVector<std::span<const Extent>, 1>> other_strides_;
};

}  // namespace sinter
