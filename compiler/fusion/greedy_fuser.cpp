#include "compiler/fusion/greedy_fuser.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "compiler/cost/cost.h"
#include "compiler/fusion/concat_placement.h"
#include "compiler/fusion/sink_into_producer.h"
#include "compiler/program/print_program.h"
#include "compiler/schedule/opaque_calls.h"
#include "ir/support/sort_unique.h"

namespace sinter {

namespace {

/// The limit of merge_past_arrays: more arrays than a useful kernel has live values.
constexpr std::size_t kRelaxedMaxArrays = 8 * kMaxArguments;
/// Of the bytes that a merged group reads, for further siblings. Below it, one launch of several
/// sections saves as much, and a kernel of many rows would hold all of them at once.
constexpr double kLeastShareOfLargeSiblings = 1.0 / 8;

}  // namespace

GreedyFuser::GreedyFuser(const GraphData& graph, LazyValueNames& names, const Target& target,
                         const Facts& facts, PlanWork& work, Groups::InitialGroups initial)
    : groups(graph, names, work, initial),
      graph_(graph),
      target_(target),
      facts_(facts),
      work_(work),
      evaluator_(graph, groups, target, facts),
      sizes_(graph, facts),
      cached_times_(static_cast<std::size_t>(groups.size())),
      queue_(groups.size()) {}

void GreedyFuser::run(const Strategy& strategy) {
  if (strategy.shapes_first) evaluator_.allow_other_shapes_along_rows();
  for (const Node* node : strategy.placed) groups.mark_placed(groups.home(node));
  merge_neighbours();
  rematerialize_cheap_values();
  groups.find_chain();
  merge_siblings();
  evaluator_.allow_other_shapes();
  groups.find_chain();
  merge_neighbours();
  merge_siblings();
  // Groups merged since then may already load the operands of other values.
  max_time_ratio_ = 1 - kRounding;
  rematerialize_cheap_values();
  const auto seconds_of = [&](int group) {
    return groups[group].alive ? cost_or_infinite(group) : 0.0;
  };
  sink_concats(groups, seconds_of);
  groups.find_chain();
  if (sink_shrinking_consumers(groups, sizes_, seconds_of)) {
    merge_neighbours();
    groups.find_chain();
  }
  queue_ = MergeQueue(0);  // frees its memory
  place_concats(graph_, groups, facts_);
}

std::vector<GreedyFuser::Merge> GreedyFuser::merge_past_arrays() {
  max_arrays_ = kRelaxedMaxArrays;
  evaluator_.set_max_arrays(max_arrays_);
  queue_ = MergeQueue(groups.size());
  groups.find_chain();
  merge_neighbours();
  // Backwards: keeps the merges that lead to a group within the limit.
  std::vector<bool> is_part(static_cast<std::size_t>(groups.size()));
  std::vector<Merge> kept;
  for (const Merge& merge : merges_ | std::views::reverse) {
    const bool is_kept =
        is_part[static_cast<std::size_t>(merge.into)] || merge.arrays <= kMaxArguments;
    is_part[static_cast<std::size_t>(merge.into)] = is_kept;
    is_part[static_cast<std::size_t>(merge.from)] = is_kept;
    if (is_kept) kept.push_back(merge);
  }
  std::ranges::reverse(kept);
  return kept;
}

bool GreedyFuser::merge_as(const std::vector<Merge>& merges) {
  if (merges.empty()) return true;
  groups.find_chain();
  for (const Merge& merge : merges) {
    if (!groups[merge.into].alive || !groups[merge.from].alive) return false;
    Groups::Between between = groups.between(merge.into, merge.from);
    if (between.detour != Groups::Detour::none) return false;
    groups.merge(merge.into, merge.from, std::move(between));
    // Changes of other groups may have changed the values that it stores.
    if (groups.arguments(merge.into) != merge.arrays) return false;
  }
  return true;
}

bool GreedyFuser::may_merge_without_body(int a, int b) {
  const GroupPattern both = groups.union_pattern(a, b);
  if (both.kind != GroupPattern::Kind::rows) return both.kind == GroupPattern::Kind::plain;
  const std::int64_t max_kept =
      max_kept_bytes(groups.contents(a, sizes_)) + max_kept_bytes(groups.contents(b, sizes_));
  return reads_rows_once(both, max_kept, target_, facts_);
}

std::optional<Cost> GreedyFuser::cost_without_body(int group) {
  const GroupPattern& pattern = groups[group].pattern;
  const KernelContents contents = groups.contents(group, sizes_);
  if (groups[group].is_call) {
    Cost cost{.bytes_written = contents.further_bytes};
    for (const Node* node : groups[group].loads) cost.bytes_read += bytes(node);
    for (const Node* node : groups[group].stores) cost.bytes_written += bytes(node);
    cost.seconds = seconds_of(cost, target_);
    return cost;
  }
  if (pattern.kind == GroupPattern::Kind::rows &&
      !reads_rows_once(pattern, max_kept_bytes(contents), target_, facts_))
    return std::nullopt;
  return cost_of(pattern, contents, target_, sizes_);
}

const GreedyFuser::LowerBounds& GreedyFuser::lower_bounds(int group) {
  LowerBounds& known = lower_bounds_[group];
  const Group& now = groups[group];
  // A group may lose stores without a new version.
  const auto stores = static_cast<std::uint32_t>(now.stores.size());
  if (known.version == now.version && known.stores == stores) return known;
  known = {.version = now.version, .stores = stores};
  if (const std::optional<Cost> cost = cost_without_body(group)) {
    known.bytes = cost->bytes_read + cost->bytes_written;
    known.seconds = cost->seconds;
    // In a larger kernel, values that are constant along a row may be computed less often.
    if (now.pattern.kind != GroupPattern::Kind::mixed) known.instructions = cost->instructions;
  }
  return known;
}

double GreedyFuser::seconds(int group) {
  const CachedTime& known = cached_times_[static_cast<std::size_t>(group)];
  if (known.version == groups[group].version) return known.seconds;
  if (const std::optional<Cost> cost = cost_without_body(group))
    return remember(group, cost->seconds);
  return remember(group, evaluator_.cost(groups.kernel_nodes(group)).seconds);
}

double GreedyFuser::seconds(int group, const LowerBounds& bounds) {
  const CachedTime& known = cached_times_[static_cast<std::size_t>(group)];
  if (known.version != groups[group].version && bounds.bytes >= 0)
    return remember(group, bounds.seconds);
  return seconds(group);
}

double GreedyFuser::remember(int group, double seconds) {
  cached_times_[static_cast<std::size_t>(group)] = {.version = groups[group].version,
                                                    .seconds = seconds};
  return seconds;
}

double GreedyFuser::seconds() {
  double result = 0;
  for (int group = 0; group < groups.size(); ++group)
    if (groups[group].alive && !groups[group].is_placed) result += seconds(group);
  return result;
}

double GreedyFuser::cost_or_infinite(int group) {
  if (groups[group].nodes.size() > kMaxNodes || groups.arguments(group) > kMaxArguments)
    return kImpossibleSeconds;
  if (const std::optional<Cost> cost = cost_without_body(group)) return cost->seconds;
  const FusionEvaluator::Evaluation& evaluation = evaluator_.of(groups.kernel_nodes(group));
  const bool is_allowed = evaluation.cost && evaluation.shapes_reason.empty();
  return is_allowed ? evaluation.cost->seconds : kImpossibleSeconds;
}

GreedyFuser::MergeDecision GreedyFuser::decide(int a, int b) {
  if (may_merge_without_body(a, b)) return {.merges = true};
  const FusionEvaluator::Evaluation& evaluation = evaluator_.of(groups.kernel_nodes(a, b));
  if (!evaluation.cost || !evaluation.shapes_reason.empty()) return {};
  const double together = evaluation.cost->seconds;
  return {.merges = together <= seconds(a) + seconds(b), .seconds = together};
}

std::string GreedyFuser::boundary_reason(int a, int b) {
  if (const std::size_t nodes = count_nodes(a, b); nodes > kMaxNodes)
    return fmt::format("one kernel would have {} ops, more than {}", nodes, kMaxNodes);
  if (may_merge_without_body(a, b))
    return arguments_refusal(groups.union_traffic(a, b, sizes_).arguments);
  const FusionEvaluator::Evaluation& evaluation = evaluator_.of(groups.kernel_nodes(a, b));
  if (evaluation.has_body && !evaluation.shapes_reason.empty())
    return evaluator_.with_names(evaluation.shapes_reason);
  if (!evaluation.cost) return evaluator_.with_names(evaluation.reason);
  const Cost cost = *evaluation.cost;
  const double apart = seconds(a) + seconds(b);
  if (cost.seconds <= apart) return {};
  return fmt::format(
      "one kernel would take {:.2f} us ({} and {:.1f} M instructions), two take {:.2f} us",
      cost.seconds * 1e6, bytes_text(cost.bytes_read + cost.bytes_written),
      cost.instructions * 1e-6, apart * 1e6);
}

std::string GreedyFuser::reason(int producer, int consumer) {
  for (const int group : {producer, consumer})
    if (groups[group].is_call) return opaque_boundary(*groups[group].nodes.front());
  const Groups::Detour detour = groups.between(producer, consumer).detour;
  if (detour == Groups::Detour::some)
    return "merging them would create a cycle through a third kernel";
  if (detour == Groups::Detour::too_far_to_tell)
    return "merging them might create a cycle: there are too many kernels between them to "
           "check";
  const std::string reason = boundary_reason(producer, consumer);
  return reason.empty() ? "one kernel is possible, but only in another merge order" : reason;
}

void GreedyFuser::offer(int owner, int a, int b) {
  const int other = a == owner ? b : a;
  if (a == b || !groups[other].alive) return;
  if (groups.has_own_kernel(a) || groups.has_own_kernel(b)) return;
  // Groups only grow, so a pair that is too large stays too large.
  if (count_nodes(a, b) > kMaxNodes) return;
  ++work_.candidates_scored;
  const Groups::UnionTraffic union_traffic = groups.union_traffic_with(other, b, sizes_);
  if (union_traffic.arguments <= max_arrays_)
    queue_.add({.saved = union_traffic.saved, .a = a, .b = b}, owner, groups[other].version);
  else
    has_hit_array_limit_ = true;
}

void GreedyFuser::score(int owner, auto offer_all) {
  queue_.begin_list(owner, groups[owner].version,
                    [&](int group, int version) { return is_current(group, version); });
  groups.set_focus(owner);
  offer_all();
  queue_.end_list(owner);
}

bool GreedyFuser::drain() {
  bool has_merged = false;
  while (const std::optional<Candidate> best =
             queue_.pop([&](int group, int version) { return is_current(group, version); })) {
    const int a = best->a, b = best->b;
    Groups::Between between = groups.between(a, b);
    if (between.detour != Groups::Detour::none) continue;
    const MergeDecision decision = decide(a, b);
    if (!decision.merges) continue;
    groups.merge(a, b, std::move(between));
    has_merged = true;
    if (max_arrays_ > kMaxArguments)
      merges_.push_back({.into = a, .from = b, .arrays = groups.arguments(a)});
    if (decision.seconds) remember(a, *decision.seconds);
    score(a, [&] {
      groups.visit_consumers(a, [&](int consumer) { offer(a, a, consumer); });
      groups.visit_producers(a, [&](int producer) { offer(a, producer, a); });
    });
  }
  return has_merged;
}

double GreedyFuser::shared_share(int a, int b) {
  double shared = 0, all = 0;
  for (const Node* node : groups[a].loads) {
    all += bytes(node);
    if (std::ranges::find(groups[b].loads, node) != groups[b].loads.end()) shared += bytes(node);
  }
  return all > 0 ? shared / all : 1;
}

void GreedyFuser::merge_neighbours() {
  for (int group = 0; group < groups.size(); ++group)
    if (groups[group].alive)
      score(group, [&] {
        groups.visit_consumers(group, [&](int consumer) { offer(group, group, consumer); });
      });
  drain();
}

void GreedyFuser::merge_siblings() {
  // A merged group has other siblings than its parts had.
  if (merge_adjacent_siblings(0))
    while (merge_adjacent_siblings(kLeastShareOfLargeSiblings)) {
    }
}

bool GreedyFuser::merge_adjacent_siblings(double least_share) {
  DenseMap<const Node*, int> last_reader;
  std::vector<std::pair<int, int>> pairs;
  for (int group = 0; group < groups.size(); ++group) {
    if (!groups[group].alive) continue;
    for (const Node* node : groups[group].loads) {
      const auto [last, is_first] = last_reader.try_emplace(node, group);
      if (!is_first) pairs.emplace_back(std::exchange(last->second, group), group);
    }
  }
  sort_unique(pairs);
  for (std::size_t next = 0; next < pairs.size();) {
    const int owner = pairs[next].first;
    score(owner, [&] {
      for (; next < pairs.size() && pairs[next].first == owner; ++next)
        if (const int other = pairs[next].second;
            least_share == 0 || shared_share(owner, other) >= least_share)
          offer(owner, owner, other);
    });
  }
  return drain();
}

}  // namespace sinter
