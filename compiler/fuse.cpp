#include "compiler/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "compiler/assemble.h"
#include "compiler/cones.h"
#include "compiler/group.h"
#include "compiler/hand_over.h"
#include "compiler/judge.h"
#include "compiler/merge_queue.h"
#include "compiler/parts.h"
#include "compiler/rewrite.h"
#include "compiler/stored_views.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// More than sums of seconds are off by.
constexpr double kRounding = 1e-9;
/// More seconds than any kernel takes.
constexpr double kImpossible = 1e30;

/// Graphs with more nodes are fused in one order only.
constexpr std::size_t kMostNodesTwice = 512;

class Fuser {
 public:
  Fuser(const GraphData& graph, LazyValueNames& names, const Target& target, const Facts& facts,
        PlanWork& work)
      : groups(graph, names, work),
        graph_(graph),
        target_(target),
        facts_(facts),
        work_(work),
        judge_(graph, groups, target, facts),
        sizes_(graph, facts),
        seconds_(static_cast<std::size_t>(groups.size())),
        cones_(graph, groups),
        queue_(groups.size()) {}

  /// `shapes_first`: results of other shapes join as early as all others. Concats of `placed` are
  /// stored piece by piece from the outset, and merged with nothing.
  void run(bool shapes_first = false, const std::vector<const Node*>& placed = {}) {
    if (shapes_first) judge_.allow_other_shapes_along_rows();
    for (const Node* node : placed) groups.place(groups.home(node));
    merge_neighbours();
    recompute_cheap_values();
    groups.find_chain();
    merge_siblings();
    judge_.allow_other_shapes();
    groups.find_chain();
    merge_neighbours();
    merge_siblings();
    // What has joined since may read what others are made of.
    most_after_recompute_ = 1 - kRounding;
    recompute_cheap_values();
    const auto seconds_of = [&](int group) {
      return groups[group].alive ? cost_or_infinite(group) : 0.0;
    };
    hand_over_concats(groups, seconds_of);
    groups.find_chain();
    if (hand_over_smaller_values(groups, sizes_, seconds_of)) {
      merge_neighbours();
      groups.find_chain();
    }
    queue_ = MergeQueue(0);  // its memory is of use to what comes next
    place_concats();
  }

  /// True if other shapes first might have made other kernels.
  bool has_put_off_shapes() const { return judge_.has_put_off(); }

  /// Why `producer` and `consumer` are two kernels.
  std::string reason(int producer, int consumer) {
    const Groups::Detour detour = groups.between(producer, consumer).detour;
    if (detour == Groups::Detour::some)
      return "a third kernel needs the result of one and feeds the other";
    if (detour == Groups::Detour::too_far_to_tell)
      return "so much lies between them that a third kernel may need the result of one and feed "
             "the other";
    const std::string why_not = why_two(producer, consumer);
    return why_not.empty() ? "merging them later became possible only in another order" : why_not;
  }

  /// What all kernels take, one after the other.
  double seconds() {
    double result = 0;
    for (int group = 0; group < groups.size(); ++group)
      if (groups[group].alive && !groups[group].is_placed) result += seconds(group);
    return result;
  }

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

  Parts parts(int group) const {
    return {
        .nodes = groups[group].nodes, .loads = groups[group].loads, .stores = groups[group].stores};
  }

  /// True if it is known without a body that one kernel of `a` and `b` is no slower than two.
  bool are_simply_one(int a, int b) {
    const Regular both = groups.regular(a, b);
    if (both.kind != Regular::Kind::rows) return both.kind == Regular::Kind::plain;
    return reads_rows_once(both, most_kept_bytes(parts(a)) + most_kept_bytes(parts(b)), target_,
                           facts_);
  }

  /// What `group` takes if that is known without a body.
  std::optional<Cost> simple_cost(int group) {
    const Regular& regular = groups[group].regular;
    if (regular.kind == Regular::Kind::rows &&
        !reads_rows_once(regular, most_kept_bytes(parts(group)), target_, facts_))
      return std::nullopt;
    return cost_of(regular, parts(group), target_, sizes_);
  }

  /// What `group` moves and computes at least.
  const Least& least(int group) {
    Least& known = least_[group];
    const Group& now = groups[group];
    // Between versions a group may come to store less.
    const auto stores = static_cast<std::uint32_t>(now.stores.size());
    if (known.version == now.version && known.stores == stores) return known;
    known = {.version = now.version, .stores = stores};
    if (const std::optional<Cost> cost = simple_cost(group)) {
      known.bytes = cost->bytes_read + cost->bytes_written;
      known.seconds = cost->seconds;
      // In other company, what is the same all along a row may be computed less often.
      if (now.regular.kind != Regular::Kind::mixed) known.instructions = cost->instructions;
    }
    return known;
  }

  /// Cost of a group as it stands.
  double seconds(int group) {
    const Known& known = seconds_[static_cast<std::size_t>(group)];
    if (known.version == groups[group].version) return known.seconds;
    if (const std::optional<Cost> cost = simple_cost(group)) return remember(group, cost->seconds);
    return remember(group, judge_.cost(groups.whole(group)).seconds);
  }

  /// The same of a group of which this much is known.
  double seconds(int group, const Least& least) {
    const Known& known = seconds_[static_cast<std::size_t>(group)];
    if (known.version != groups[group].version && least.bytes >= 0)
      return remember(group, least.seconds);
    return seconds(group);
  }

  double remember(int group, double seconds) {
    seconds_[static_cast<std::size_t>(group)] = {.version = groups[group].version,
                                                 .seconds = seconds};
    return seconds;
  }

  static std::string nodes_refusal(std::size_t nodes) {
    if (nodes <= kMaxNodes) return {};
    return fmt::format("together they are {} ops, more than {}", nodes, kMaxNodes);
  }

  std::size_t count_nodes(int a, int b) const {
    return groups[a].nodes.size() + groups[b].nodes.size();
  }

  /// Whether one kernel may take the place of both and is no slower, detours apart; they are not
  /// too many.
  Verdict judge(int a, int b) {
    if (are_simply_one(a, b)) return {.is_one = true};
    const Judge::Finding& finding = judge_.of(groups.whole(a, b));
    if (!finding.cost || !finding.why_not_shapes.empty()) return {};
    const double together = finding.cost->seconds;
    return {.is_one = together <= seconds(a) + seconds(b), .seconds = together};
  }

  /// The same in words; "" if one kernel it may be.
  std::string why_two(int a, int b) {
    if (std::string refusal = nodes_refusal(count_nodes(a, b)); !refusal.empty()) return refusal;
    if (are_simply_one(a, b)) return arguments_refusal(groups.meeting(a, b, sizes_).arguments);
    const Judge::Finding& finding = judge_.of(groups.whole(a, b));
    if (finding.has_body && !finding.why_not_shapes.empty())
      return judge_.in_words(finding.why_not_shapes);
    if (!finding.cost) return judge_.in_words(finding.why_not);
    const Cost cost = *finding.cost;
    const double apart = seconds(a) + seconds(b);
    if (cost.seconds <= apart) return {};
    return fmt::format(
        "one kernel would take {:.2f} us ({} and {:.1f} M instructions), two take {:.2f} us",
        cost.seconds * 1e6, bytes_text(cost.bytes_read + cost.bytes_written),
        cost.instructions * 1e-6, apart * 1e6);
  }

  /// True if `group` is still what it was when it had this version.
  bool is_current(int group, int version) const {
    return groups[group].alive && groups[group].version == version;
  }

  /// Adds a pair to the list of `owner`, which is one of both and faced.
  void offer(int owner, int a, int b) {
    const int other = a == owner ? b : a;
    if (a == b || !groups[other].alive) return;
    if (groups[a].is_placed || groups[b].is_placed) return;
    // What is too much for one kernel now only grows with the groups.
    if (count_nodes(a, b) > kMaxNodes) return;
    ++work_.candidates_scored;
    const Groups::Meeting meeting = groups.meeting_with(other, b, sizes_);
    if (meeting.arguments <= kMaxArguments)
      queue_.add({.saved = meeting.saved, .a = a, .b = b}, owner, groups[other].version);
  }

  /// Scores pairs of `owner`: those that `offer_all` offers.
  void score(int owner, auto offer_all) {
    queue_.begin_list(owner, groups[owner].version,
                      [&](int group, int version) { return is_current(group, version); });
    groups.face(owner);
    offer_all();
    queue_.end_list(owner);
  }

  /// Merges the best candidates until none is left; a merged group's neighbours are scored again.
  void drain() {
    while (const std::optional<Candidate> best =
               queue_.pop([&](int group, int version) { return is_current(group, version); })) {
      const int a = best->a, b = best->b;
      Groups::Between between = groups.between(a, b);
      if (between.detour != Groups::Detour::none) continue;
      const Verdict verdict = judge(a, b);
      if (!verdict.is_one) continue;
      groups.merge(a, b, std::move(between));
      if (verdict.seconds) remember(a, *verdict.seconds);
      score(a, [&] {
        groups.visit_consumers(a, [&](int consumer) { offer(a, a, consumer); });
        groups.visit_producers(a, [&](int producer) { offer(a, producer, a); });
      });
    }
  }

  void merge_neighbours() {
    for (int group = 0; group < groups.size(); ++group)
      if (groups[group].alive)
        score(group, [&] {
          groups.visit_consumers(group, [&](int consumer) { offer(group, group, consumer); });
        });
    drain();
  }

  /// Groups that read the same array without needing one another's results.
  void merge_siblings() {
    llvm::DenseMap<const Node*, int> last_reader;
    std::vector<std::pair<int, int>> pairs;
    for (int group = 0; group < groups.size(); ++group) {
      if (!groups[group].alive) continue;
      for (const Node* node : groups[group].loads) {
        const auto [last, is_first] = last_reader.try_emplace(node, group);
        if (!is_first) pairs.emplace_back(std::exchange(last->second, group), group);
      }
    }
    std::ranges::sort(pairs);
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    for (std::size_t next = 0; next < pairs.size();) {
      const int owner = pairs[next].first;
      score(owner, [&] {
        for (; next < pairs.size() && pairs[next].first == owner; ++next)
          offer(owner, owner, pairs[next].second);
      });
    }
    drain();
  }

  /// Where loading what a value is made of moves no more bytes than storing and loading the value,
  /// its readers compute it themselves; or at least cast it from what is narrower.
  void recompute_cheap_values() {
    for (int group = 0; group < groups.size(); ++group) {
      if (!groups[group].alive) continue;
      const Nodes stores = groups[group].stores;
      for (const Node* node : stores) {
        if (groups.is_result(node)) continue;
        if (!try_recompute(group, node, cones_.of(group, node)))
          try_recompute(group, node, cones_.of_widening(group, node));
      }
    }
    least_.shrink_and_clear();
    cones_.forget();
  }

  /// Lets the readers of `node` compute what it is `made_of`; false if that does not pay.
  bool try_recompute(int group, const Node* node, const Cone& made_of) {
    const std::vector<const Node*>& nodes = made_of.nodes;
    if (nodes.empty() || !groups[group].alive || groups[group].is_placed) return false;
    GroupNumbers touched = {group};
    for (const int consumer : groups.readers(group, node)) {
      if (groups[consumer].is_placed) return false;
      const auto added = std::ranges::count_if(
          nodes, [&](const Node* inner) { return !groups.contains(consumer, inner); });
      if (groups[consumer].nodes.size() + static_cast<std::size_t>(added) > kMaxNodes) return false;
      touched.push_back(consumer);
    }
    double before = 0;
    for (const int at : touched) before += seconds(at, least(at));
    const std::span<const int> readers = std::span(touched).subspan(1);
    if (least_seconds(group, node, made_of, readers) > before * (1 + kRounding)) return false;
    // Whether it pays shows only when it is done.
    Groups::Snapshot saved = groups.snapshot(touched);
    for (const int reader : readers) groups.recompute(reader, nodes);
    groups.drop_unused(group);
    double after = 0;
    for (const int at : touched)
      if (groups[at].alive && after <= before) after += cost_or_infinite(at);
    if (after > before * most_after_recompute_) {
      groups.restore(std::move(saved));
      return false;
    }
    groups.lose_reader(saved.groups[0].loads);
    return true;
  }

  /// What `group` and `readers` take at least, each byte and each element counted once, once these
  /// compute `node` by its cone themselves, instead of loading it; 0 where that is not known.
  double least_seconds(int group, const Node* node, const Cone& made_of,
                       std::span<const int> readers) {
    const std::vector<const Node*>& nodes = made_of.nodes;
    Cost all;
    int launches = 0;
    const auto add = [&](int at, double more_bytes, double more_instructions) {
      const Least& known = least(at);
      all.bytes_read += known.bytes + more_bytes;
      all.instructions += std::max(known.instructions + more_instructions, 0.0);
      ++launches;
      return known.bytes >= 0;
    };
    Nodes stored;  // of what its group computes, because readers load it from now on
    for (const int reader : readers) {
      double more = -bytes(node);
      const Nodes& known = groups[reader].loads;
      const auto is_known = [&](const Node* load) {
        return std::ranges::binary_search(known, load->id, {}, &Node::id);
      };
      std::size_t arguments = groups.arguments(reader);
      for (const Node* load : made_of.loads) {
        if (groups.contains(reader, load)) continue;
        if (groups.home(load) == group) stored.push_back(load);
        if (is_known(load)) continue;
        more += bytes(load);
        ++arguments;
      }
      if (arguments - static_cast<std::size_t>(std::ranges::count_if(nodes, is_known)) >
          kMaxArguments)
        return kImpossible;
      if (!add(reader, more, more_instructions(reader, nodes))) return 0;
    }
    // Without anything else to store it is gone; else it drops what only `nodes` read, and stores
    // what they read of its own.
    if (groups[group].stores.size() > 1) {
      double more = -bytes(node);
      for (const Node* load : made_of.loads) {
        if (!groups.contains(group, load))
          more -= groups.is_read_besides(group, load, nodes) ? 0 : bytes(load);
        else if (std::ranges::find(stored, load) != stored.end() &&
                 !groups.is_wanted_outside(load, group, -1))
          more += bytes(load);
      }
      double dropped = 0;
      for (const Node* inner : nodes) dropped += instructions(inner);
      if (!add(group, more, -dropped)) return 0;
    }
    return (launches - 1) * target_.launch_seconds + seconds_of(all, target_);
  }

  double instructions(const Node* node) {
    return instructions_of(node->op) * sizes_.elements(*node);
  }

  /// What `reader` computes besides at least, if it comes to compute `nodes`; 0 where that is not
  /// known.
  double more_instructions(int reader, std::span<const Node* const> nodes) {
    Regular regular = groups[reader].regular;
    double result = 0;
    for (const Node* node : nodes) {
      if (groups.contains(reader, node)) continue;
      regular = united(regular, sinter::regular(*node));
      result += instructions(node);
    }
    return regular.kind == Regular::Kind::none ? 0 : result;
  }

  double cost_or_infinite(int group) {
    if (groups[group].nodes.size() > kMaxNodes || groups.arguments(group) > kMaxArguments)
      return kImpossible;
    if (const std::optional<Cost> cost = simple_cost(group)) return cost->seconds;
    const Judge::Finding& finding = judge_.of(groups.whole(group));
    const bool is_one = finding.cost && finding.why_not_shapes.empty();
    return is_one ? finding.cost->seconds : kImpossible;
  }

  /// A kernel that only copies what others can store in its place is not needed.
  void place_concats() {
    for (int group = 0; group < groups.size(); ++group)
      if (is_placeable_concat(graph_, groups, group, facts_)) groups.place(group);
  }

  const GraphData& graph_;
  const Target& target_;
  const Facts& facts_;
  PlanWork& work_;
  Judge judge_;
  NodeSizes sizes_;
  std::vector<Known> seconds_;        ///< by group
  llvm::DenseMap<int, Least> least_;  ///< by group, while values are tried as recomputed
  Cones cones_;
  /// Of what it took before, what may be taken once a value is recomputed.
  double most_after_recompute_ = 1;
  MergeQueue queue_;
};

/// A graph and its groups.
struct Fused {
  std::shared_ptr<Graph> graph;
  std::unique_ptr<Fuser> fuser;
  std::shared_ptr<LazyValueNames> names = std::make_shared<LazyValueNames>();
};

/// `graph` in groups: in the best of several ways, or each node apart.
Fused fused(Graph graph, Program& program, const Target& target, bool fuses = true) {
  Fused result{.graph = std::make_shared<Graph>(std::move(graph)), .fuser = nullptr};
  const GraphData& data = result.graph->data();
  const auto fuser = [&] {
    return std::make_unique<Fuser>(data, *result.names, target, program.facts, program.work);
  };
  const auto try_other = [&](bool shapes_first, const std::vector<const Node*>& placed) {
    auto other = fuser();
    other->run(shapes_first, placed);
    if (other->seconds() < result.fuser->seconds() * (1 - kRounding))
      result.fuser = std::move(other);
  };
  result.fuser = fuser();
  if (!fuses) return result;
  result.fuser->run();
  if (result.fuser->has_put_off_shapes() && data.nodes.size() <= kMostNodesTwice)
    try_other(true, {});
  // A concat that computes its pieces may keep them from the kernels of their reductions.
  const std::vector<const Node*> placed =
      concats_to_place(data, result.fuser->groups, program.facts);
  if (!placed.empty()) try_other(false, placed);
  return result;
}

}  // namespace

Program fuse(Graph graph, const Target& target, const Facts& facts, const PlanOptions& options) {
  Program program;
  program.facts = facts;
  read_inputs_as_values(graph.data());
  Fused best = fused(std::move(graph), program, target, options.fuse);
  const std::vector<int> views =
      options.fuse ? views_to_compute(best.graph->data(), best.fuser->groups) : std::vector<int>();
  if (!views.empty()) {
    Graph other = compact(*best.graph);
    compute_views(other.data(), views);
    Fused computed = fused(compact(other), program, target);
    if (computed.fuser->seconds() < best.fuser->seconds()) best = std::move(computed);
  }
  program.graph = best.graph;
  program.lazy_names = best.names;
  assemble(program, best.fuser->groups, [&](int producer, int consumer) -> std::string {
    return options.fuse ? best.fuser->reason(producer, consumer) : "fusion is off";
  });
  return program;
}

}  // namespace sinter
