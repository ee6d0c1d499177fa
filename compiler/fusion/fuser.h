// Merges groups of nodes into kernels, the pairs that save most first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/fusion/fusion_evaluator.h"
#include "compiler/fusion/group.h"
#include "compiler/fusion/merge_queue.h"
#include "compiler/fusion/rematerialization_cone.h"

namespace sinter {

class Fuser {
 public:
  Fuser(const GraphData& graph, LazyValueNames& names, const Target& target, const Facts& facts,
        PlanWork& work, Groups::Begin begin = Groups::Begin::joined);

  /// In which order, and from what.
  struct Way {
    /// Results of other shapes join as early as all others.
    bool shapes_first = false;
    /// These concats are stored segment by segment from the outset, and merged with nothing.
    std::vector<const Node*> placed = {};
  };
  void run(const Way& way);
  void run() { run(Way{}); }

  /// True if other shapes first might have made other kernels.
  bool has_deferred_shapes() const { return judge_.has_deferred(); }
  /// True if groups stayed apart for touching too many arrays.
  bool has_hit_array_limit() const { return has_met_too_many_arrays_; }

  /// One group has become part of another, which touches so many arrays then.
  struct Merge {
    int into = 0;
    int from = 0;
    std::size_t arrays = 0;
  };
  /// Goes on merging where groups touch too many arrays on the way to one that does not: values
  /// that many read are many arrays between their producers and their readers, and none where these
  /// are one. Returns the merges that lead to such groups, in their order; this one is good for
  /// nothing else then.
  std::vector<Merge> merge_past_arrays();
  /// Merges what another one found so, which was the same until then; false if that cannot be told
  /// to be right, and this one is good for nothing.
  bool merge_as(const std::vector<Merge>& merges);

  /// Why `producer` and `consumer` are two kernels.
  std::string reason(int producer, int consumer);
  /// Bytes that one kernel of both would not move.
  double bytes_between(int producer, int consumer) {
    return groups.union_traffic(producer, consumer, sizes_).saved;
  }

  /// What all kernels take, one after the other.
  double seconds();

  Groups groups;

 private:
  /// Cost of a group when it had this version.
  struct Known {
    int version = -1;
    double seconds = 0;
  };
  /// What a group moves and computes at least, if that is known without a body, when it had this
  /// version and stored so many values.
  struct Least {
    int version = -1;
    std::uint32_t stores = 0;
    double bytes = -1;  ///< negative: only a body tells
    double instructions = 0;
    double seconds = 0;
  };
  struct Verdict {
    bool is_one = false;
    std::optional<double> seconds = {};  ///< that the one kernel takes, where that was asked
  };

  double bytes(const Node* node) { return sizes_.bytes(*node); }
  KernelContents parts(int group) const;
  /// True if it is known without a body that one kernel of `a` and `b` is no slower than two.
  bool are_simply_one(int a, int b);
  /// What `group` takes if that is known without a body.
  std::optional<Cost> simple_cost(int group);
  /// What `group` moves and computes at least.
  const Least& least(int group);
  /// Cost of a group as it stands.
  double seconds(int group);
  /// The same of a group of which this much is known.
  double seconds(int group, const Least& least);
  /// Of an opaque call: its arrays at the speed of memory.
  double seconds_of_call(int group);
  double remember(int group, double seconds);
  double cost_or_infinite(int group);
  std::size_t count_nodes(int a, int b) const {
    return groups[a].nodes.size() + groups[b].nodes.size();
  }

  /// Whether one kernel may take the place of both and is no slower, detours apart; they are not
  /// too many.
  Verdict judge(int a, int b);
  /// The same in words; "" if one kernel it may be.
  std::string boundary_reason(int a, int b);

  /// True if `group` is still what it was when it had this version.
  bool is_current(int group, int version) const {
    return groups[group].alive && groups[group].version == version;
  }
  /// Adds a pair to the list of `owner`, which is one of both and faced.
  void offer(int owner, int a, int b);
  /// Scores pairs of `owner`: those that `offer_all` offers.
  void score(int owner, auto offer_all);
  /// Merges the best candidates until none is left; a merged group's neighbours are scored again.
  void drain();
  void merge_neighbours();
  /// Groups that read the same array without needing one another's results.
  void merge_siblings();

  /// Where loading what a value is made of moves no more bytes than storing and loading the value,
  /// its readers compute it themselves; or at least cast it from what is narrower.
  void recompute_cheap_values();
  /// Lets the readers of `node` compute what it is `made_of`; false if that does not pay.
  bool try_recompute(int group, const Node* node, const RematerializationCone& made_of);
  /// What `group` and `readers` take at least, each byte and each element counted once, once these
  /// compute `node` by its cone themselves, instead of loading it; 0 where that is not known.
  double least_seconds(int group, const Node* node, const RematerializationCone& made_of,
                       std::span<const int> readers);
  double instructions(const Node* node);
  /// What `reader` computes besides at least, if it comes to compute `nodes`; 0 where that is not
  /// known.
  double more_instructions(int reader, std::span<const Node* const> nodes);

  /// A kernel that only copies what others can store in its place is not needed.
  void place_concats();

  const GraphData& graph_;
  const Target& target_;
  const Facts& facts_;
  PlanWork& work_;
  FusionEvaluator judge_;
  NodeSizes sizes_;
  std::vector<Known> seconds_;  ///< by group
  DenseMap<int, Least> least_;  ///< by group, while values are tried as recomputed
  RematerializationCones cones_;
  /// Of what it took before, what may be taken once a value is recomputed.
  double most_after_recompute_ = 1;
  std::size_t most_arrays_ = kMaxArguments;
  bool has_met_too_many_arrays_ = false;
  std::vector<Merge> merges_;  ///< past that many arrays
  MergeQueue queue_;
};

/// More than sums of seconds are off by.
inline constexpr double kRounding = 1e-9;
/// More seconds than any kernel takes.
inline constexpr double kImpossibleSeconds = 1e30;

}  // namespace sinter
