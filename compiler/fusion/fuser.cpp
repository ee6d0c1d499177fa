#include "compiler/fusion/fuser.h"

#include "compiler/program/print_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "compiler/cost/cost.h"
#include "compiler/fusion/concat_placement.h"
#include "compiler/fusion/sink_into_producer.h"
#include "compiler/schedule/opaque_calls.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// More arrays than values are live in a kernel of any use.
constexpr std::size_t kMostArraysOnTheWay = 8 * kMaxArguments;

std::string nodes_refusal(std::size_t nodes) {
  if (nodes <= kMaxNodes) return {};
  return fmt::format("together they are {} ops, more than {}", nodes, kMaxNodes);
}

}  // namespace

Fuser::Fuser(const GraphData& graph, LazyValueNames& names, const Target& target,
             const Facts& facts, PlanWork& work, Groups::Begin begin)
    : groups(graph, names, work, begin),
      graph_(graph),
      target_(target),
      facts_(facts),
      work_(work),
      judge_(graph, groups, target, facts),
      sizes_(graph, facts),
      seconds_(static_cast<std::size_t>(groups.size())),
      cones_(graph, groups),
      queue_(groups.size()) {}

void Fuser::run(const Way& way) {
  if (way.shapes_first) judge_.allow_other_shapes_along_rows();
  for (const Node* node : way.placed) groups.place(groups.home(node));
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
  sink_concats(groups, seconds_of);
  groups.find_chain();
  if (sink_shrinking_consumers(groups, sizes_, seconds_of)) {
    merge_neighbours();
    groups.find_chain();
  }
  queue_ = MergeQueue(0);  // its memory is of use to what comes next
  place_concats();
}

std::vector<Fuser::Merge> Fuser::merge_past_arrays() {
  most_arrays_ = kMostArraysOnTheWay;
  judge_.allow_arrays(most_arrays_);
  queue_ = MergeQueue(groups.size());
  groups.find_chain();
  merge_neighbours();
  // From the last one on: what leads to a group that is small enough is a part of it.
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

bool Fuser::merge_as(const std::vector<Merge>& merges) {
  if (merges.empty()) return true;
  groups.find_chain();
  for (const Merge& merge : merges) {
    if (!groups[merge.into].alive || !groups[merge.from].alive) return false;
    Groups::Between between = groups.between(merge.into, merge.from);
    if (between.detour != Groups::Detour::none) return false;
    groups.merge(merge.into, merge.from, std::move(between));
    // What became of others since may have left it other results.
    if (groups.arguments(merge.into) != merge.arrays) return false;
  }
  return true;
}

KernelContents Fuser::parts(int group) const {
  return {
      .nodes = groups[group].nodes, .loads = groups[group].loads, .stores = groups[group].stores};
}

bool Fuser::are_simply_one(int a, int b) {
  const GroupShape both = groups.group_shape(a, b);
  if (both.kind != GroupShape::Kind::rows) return both.kind == GroupShape::Kind::plain;
  return reads_rows_once(both, most_kept_bytes(parts(a)) + most_kept_bytes(parts(b)), target_,
                         facts_);
}

std::optional<Cost> Fuser::simple_cost(int group) {
  const GroupShape& group_shape = groups[group].group_shape;
  if (group_shape.kind == GroupShape::Kind::rows &&
      !reads_rows_once(group_shape, most_kept_bytes(parts(group)), target_, facts_))
    return std::nullopt;
  return cost_of(group_shape, parts(group), target_, sizes_);
}

const Fuser::Least& Fuser::least(int group) {
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
    if (now.group_shape.kind != GroupShape::Kind::mixed) known.instructions = cost->instructions;
  }
  return known;
}

double Fuser::seconds(int group) {
  const Known& known = seconds_[static_cast<std::size_t>(group)];
  if (known.version == groups[group].version) return known.seconds;
  if (groups[group].is_call) return remember(group, seconds_of_call(group));
  if (const std::optional<Cost> cost = simple_cost(group)) return remember(group, cost->seconds);
  return remember(group, judge_.cost(groups.whole(group)).seconds);
}

double Fuser::seconds_of_call(int group) {
  Cost cost;
  for (const Node* node : groups[group].loads) cost.bytes_read += bytes(node);
  for (const Node* node : groups[group].stores) cost.bytes_written += bytes(node);
  return seconds_of(cost, target_);
}

double Fuser::seconds(int group, const Least& least) {
  const Known& known = seconds_[static_cast<std::size_t>(group)];
  if (known.version != groups[group].version && least.bytes >= 0)
    return remember(group, least.seconds);
  return seconds(group);
}

double Fuser::remember(int group, double seconds) {
  seconds_[static_cast<std::size_t>(group)] = {.version = groups[group].version,
                                               .seconds = seconds};
  return seconds;
}

double Fuser::seconds() {
  double result = 0;
  for (int group = 0; group < groups.size(); ++group)
    if (groups[group].alive && !groups[group].is_placed) result += seconds(group);
  return result;
}

double Fuser::cost_or_infinite(int group) {
  if (groups[group].nodes.size() > kMaxNodes || groups.arguments(group) > kMaxArguments)
    return kImpossibleSeconds;
  if (const std::optional<Cost> cost = simple_cost(group)) return cost->seconds;
  const FusionEvaluator::Evaluation& finding = judge_.of(groups.whole(group));
  const bool is_one = finding.cost && finding.shapes_reason.empty();
  return is_one ? finding.cost->seconds : kImpossibleSeconds;
}

Fuser::Verdict Fuser::judge(int a, int b) {
  if (are_simply_one(a, b)) return {.is_one = true};
  const FusionEvaluator::Evaluation& finding = judge_.of(groups.whole(a, b));
  if (!finding.cost || !finding.shapes_reason.empty()) return {};
  const double together = finding.cost->seconds;
  return {.is_one = together <= seconds(a) + seconds(b), .seconds = together};
}

std::string Fuser::boundary_reason(int a, int b) {
  if (std::string refusal = nodes_refusal(count_nodes(a, b)); !refusal.empty()) return refusal;
  if (are_simply_one(a, b)) return arguments_refusal(groups.union_traffic(a, b, sizes_).arguments);
  const FusionEvaluator::Evaluation& finding = judge_.of(groups.whole(a, b));
  if (finding.has_body && !finding.shapes_reason.empty())
    return judge_.in_words(finding.shapes_reason);
  if (!finding.cost) return judge_.in_words(finding.reason);
  const Cost cost = *finding.cost;
  const double apart = seconds(a) + seconds(b);
  if (cost.seconds <= apart) return {};
  return fmt::format(
      "one kernel would take {:.2f} us ({} and {:.1f} M instructions), two take {:.2f} us",
      cost.seconds * 1e6, bytes_text(cost.bytes_read + cost.bytes_written),
      cost.instructions * 1e-6, apart * 1e6);
}

std::string Fuser::reason(int producer, int consumer) {
  for (const int group : {producer, consumer})
    if (groups[group].is_call) return opaque_boundary(*groups[group].nodes.front());
  const Groups::Detour detour = groups.between(producer, consumer).detour;
  if (detour == Groups::Detour::some)
    return "a third kernel needs the result of one and feeds the other";
  if (detour == Groups::Detour::too_far_to_tell)
    return "so much lies between them that a third kernel may need the result of one and feed "
           "the other";
  const std::string reason = boundary_reason(producer, consumer);
  return reason.empty() ? "merging them later became possible only in another order" : reason;
}

void Fuser::offer(int owner, int a, int b) {
  const int other = a == owner ? b : a;
  if (a == b || !groups[other].alive) return;
  if (groups.has_own_kernel(a) || groups.has_own_kernel(b)) return;
  // What is too much for one kernel now only grows with the groups.
  if (count_nodes(a, b) > kMaxNodes) return;
  ++work_.candidates_scored;
  const Groups::UnionTraffic union_traffic = groups.union_traffic_with(other, b, sizes_);
  if (union_traffic.arguments <= most_arrays_)
    queue_.add({.saved = union_traffic.saved, .a = a, .b = b}, owner, groups[other].version);
  else
    has_met_too_many_arrays_ = true;
}

void Fuser::score(int owner, auto offer_all) {
  queue_.begin_list(owner, groups[owner].version,
                    [&](int group, int version) { return is_current(group, version); });
  groups.set_focus(owner);
  offer_all();
  queue_.end_list(owner);
}

void Fuser::drain() {
  while (const std::optional<Candidate> best =
             queue_.pop([&](int group, int version) { return is_current(group, version); })) {
    const int a = best->a, b = best->b;
    Groups::Between between = groups.between(a, b);
    if (between.detour != Groups::Detour::none) continue;
    const Verdict verdict = judge(a, b);
    if (!verdict.is_one) continue;
    groups.merge(a, b, std::move(between));
    if (most_arrays_ > kMaxArguments)
      merges_.push_back({.into = a, .from = b, .arrays = groups.arguments(a)});
    if (verdict.seconds) remember(a, *verdict.seconds);
    score(a, [&] {
      groups.visit_consumers(a, [&](int consumer) { offer(a, a, consumer); });
      groups.visit_producers(a, [&](int producer) { offer(a, producer, a); });
    });
  }
}

void Fuser::merge_neighbours() {
  for (int group = 0; group < groups.size(); ++group)
    if (groups[group].alive)
      score(group, [&] {
        groups.visit_consumers(group, [&](int consumer) { offer(group, group, consumer); });
      });
  drain();
}

void Fuser::merge_siblings() {
  DenseMap<const Node*, int> last_reader;
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

void Fuser::place_concats() {
  for (int group = 0; group < groups.size(); ++group)
    if (is_placeable_concat(graph_, groups, group, facts_)) groups.place(group);
}

}  // namespace sinter
