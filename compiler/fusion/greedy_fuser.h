// Greedy fusion: merges groups of nodes into kernels, the pairs that save the most bytes first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/fusion/fusion_evaluator.h"
#include "compiler/fusion/group.h"
#include "compiler/fusion/merge_queue.h"

namespace sinter {

class GreedyFuser {
 public:
  GreedyFuser(const GraphData& graph, LazyValueNames& names, const Target& target,
              const Facts& facts, PlanWork& work,
              Groups::InitialGroups initial = Groups::InitialGroups::fanout_free);

  /// A fusion strategy.
  struct Strategy {
    /// Merges results with other shapes as early as all others.
    bool shapes_first = false;
    /// Places these concats from the start (concat_placement.h), so that they merge with nothing.
    std::vector<const Node*> placed = {};
  };
  void run(const Strategy& strategy);

  /// True if `Strategy::shapes_first` might give other kernels.
  bool has_deferred_shapes() const { return evaluator_.has_deferred_shapes(); }
  /// True if groups stayed separate because one kernel would touch too many arrays.
  bool has_hit_array_limit() const { return has_hit_array_limit_; }

  /// A merge of group `from` into group `into`, which then touches `arrays` arrays.
  struct Merge {
    int into = 0;
    int from = 0;
    std::size_t arrays = 0;
  };
  /// Continues merging past the array limit, to find groups that respect it again. Values with many
  /// readers are many arrays between groups, but none once producers and readers are one group.
  /// Returns the merges that lead to groups within the limit, in order. This object must not
  /// be used afterwards.
  std::vector<Merge> merge_past_arrays();
  /// Repeats the merges that an equal GreedyFuser found by `merge_past_arrays`. Returns false if a
  /// merge is not provably correct; this object must not be used afterwards.
  bool merge_as(const std::vector<Merge>& merges);

  /// Returns why `producer` and `consumer` are separate kernels.
  std::string reason(int producer, int consumer);
  /// Bytes that one kernel of both would not move.
  double bytes_between(int producer, int consumer) {
    return groups.union_traffic(producer, consumer, sizes_).saved;
  }

  /// The predicted time of all kernels in sequence.
  double seconds();

  Groups groups;

 private:
  /// The predicted time of a group at this version.
  struct CachedTime {
    int version = -1;
    double seconds = 0;
  };
  /// Lower bounds on the work of a group, if they are known without a body. They hold for this
  /// version and this number of stored values.
  struct LowerBounds {
    int version = -1;
    std::uint32_t stores = 0;
    double bytes = -1;  ///< negative: unknown without a body
    double instructions = 0;
    double seconds = 0;
  };
  struct MergeDecision {
    bool merges = false;
    std::optional<double> seconds = {};  ///< of the one kernel, if it was predicted
  };

  double bytes(const Node* node) { return sizes_.bytes(*node); }
  /// True if it is known without a body that one kernel of `a` and `b` is no slower than two.
  bool may_merge_without_body(int a, int b);
  /// The cost of `group`, if it is known without a body. Opaque calls count only their bytes.
  std::optional<Cost> cost_without_body(int group);
  /// The lower bounds of `group`.
  const LowerBounds& lower_bounds(int group);
  /// The predicted time of a group in its current state.
  double seconds(int group);
  /// The same, for a group with known lower bounds.
  double seconds(int group, const LowerBounds& bounds);
  double remember(int group, double seconds);
  double cost_or_infinite(int group);
  std::size_t count_nodes(int a, int b) const {
    return groups[a].nodes.size() + groups[b].nodes.size();
  }

  /// Decides whether one kernel may replace `a` and `b` and is no slower. The caller checks cycles
  /// and the number of nodes.
  MergeDecision decide(int a, int b);
  /// The reason against one kernel; "" if there is none.
  std::string boundary_reason(int a, int b);

  /// True if `group` is alive and has not changed since this version.
  bool is_current(int group, int version) const {
    return groups[group].alive && groups[group].version == version;
  }
  /// Adds a pair to the list of `owner`, which is one of the pair and has the focus.
  void offer(int owner, int a, int b);
  /// Replaces the list of `owner` by the pairs that `offer_all` offers.
  void score(int owner, auto offer_all);
  /// Merges the best pairs until none is left. Scores the neighbours of each merged group again.
  /// Returns true if any pair merged.
  bool drain();
  void merge_neighbours();
  /// Merges groups that read the same array but not each other's results.
  void merge_siblings();
  /// One round of that: pairs that are adjacent among the readers of an array. The first of a pair
  /// shares at least this part of the bytes that it reads.
  bool merge_adjacent_siblings(double least_share);
  /// The part of the bytes that `a` reads which `b` reads too.
  double shared_share(int a, int b);

  /// Rematerialization: readers of a value compute it themselves if that takes no more time than
  /// storing and loading it. Otherwise readers may at least cast it from a narrower value.
  void rematerialize_cheap_values();
  /// The nodes of a group that compute one value.
  struct Cone {
    std::vector<const Node*> nodes;
    Nodes loads;  ///< values that `nodes` read from outside the cone, by ascending id
  };
  /// The nodes of `group` that compute `node` from loads and from results of reductions, scans and
  /// scatters. Empty if `node` itself is one of these.
  Cone cone_of(int group, const Node* node);
  /// `node` alone, if it casts a narrower value of its group; else empty.
  Cone cone_of_widening(int group, const Node* node) const;
  /// Lets the readers of `node` compute `cone`, its cone. Returns false, without a change, if that
  /// is not worthwhile.
  bool try_recompute(int group, const Node* node, const Cone& cone);
  /// A lower bound on the time of `group` and `readers` if the readers compute the cone of `node`
  /// instead of loading `node`. Counts each byte and each element once. 0 if it is unknown.
  double min_seconds(int group, const Node* node, const Cone& cone, std::span<const int> readers);
  double instructions(const Node* node);
  /// A lower bound on the instructions that `reader` adds if it also computes `nodes`; 0 if it is
  /// unknown.
  double more_instructions(int reader, std::span<const Node* const> nodes);

  const GraphData& graph_;
  const Target& target_;
  const Facts& facts_;
  PlanWork& work_;
  FusionEvaluator evaluator_;
  NodeSizes sizes_;
  std::vector<CachedTime> cached_times_;     ///< by group
  DenseMap<int, LowerBounds> lower_bounds_;  ///< by group, during rematerialization
  std::vector<std::uint32_t> visited_;       ///< by id: the latest cone that visited the node
  std::uint32_t cones_ = 0;                  ///< built so far
  /// Rematerialization must take at most this fraction of the time before it.
  double max_time_ratio_ = 1;
  std::size_t max_arrays_ = kMaxArguments;
  bool has_hit_array_limit_ = false;
  std::vector<Merge> merges_;  ///< made past the array limit
  MergeQueue queue_;
};

/// A relative margin above the rounding errors of sums of times.
inline constexpr double kRounding = 1e-9;
/// Longer than any kernel takes.
inline constexpr double kImpossibleSeconds = 1e30;

}  // namespace sinter
