#include "compiler/fusion/fuse.h"

#include <memory>
#include <utility>

#include "compiler/fusion/assemble_program.h"
#include "compiler/fusion/concat_placement.h"
#include "compiler/fusion/greedy_fuser.h"
#include "compiler/fusion/store_views.h"
#include "compiler/schedule/opaque_calls.h"
#include "compiler/simplify/graph_sweep.h"

namespace sinter {

namespace {

/// Larger graphs are fused neither with other shapes first, nor past the array limit.
constexpr std::size_t kMaxNodesForRetries = 512;

/// A graph and its groups.
struct Fused {
  std::shared_ptr<Graph> graph;
  std::unique_ptr<GreedyFuser> fuser;
  std::shared_ptr<LazyValueNames> names = std::make_shared<LazyValueNames>();
};

/// Groups the nodes of `graph` by several strategies and returns the fastest result. If not
/// `fuses`, each node is a group.
Fused fused(Graph graph, Program& program, const Target& target, bool fuses = true) {
  Fused result{.graph = std::make_shared<Graph>(std::move(graph)), .fuser = nullptr};
  const GraphData& data = result.graph->data();
  const auto fuser = [&] {
    return std::make_unique<GreedyFuser>(
        data, *result.names, target, program.facts, program.work,
        fuses ? Groups::InitialGroups::fanout_free : Groups::InitialGroups::single_nodes);
  };
  GreedyFuser::Strategy best;
  const auto try_other = [&](GreedyFuser::Strategy strategy) {
    auto other = fuser();
    other->run(strategy);
    if (other->seconds() >= result.fuser->seconds() * (1 - kRounding)) return;
    result.fuser = std::move(other);
    best = std::move(strategy);
  };
  result.fuser = fuser();
  if (!fuses) return result;
  result.fuser->run({});
  const bool is_small = data.nodes.size() <= kMaxNodesForRetries;
  if (result.fuser->has_deferred_shapes() && is_small) try_other({.shapes_first = true});
  // A kernel of a concat that computes its segments may keep them out of the kernels of their
  // reductions.
  std::vector<const Node*> placed = concats_to_place(data, result.fuser->groups, program.facts);
  if (!placed.empty()) try_other({.placed = std::move(placed)});
  if (result.fuser->has_hit_array_limit() && is_small) {
    const auto explorer = fuser();
    explorer->run(best);
    if (!result.fuser->merge_as(explorer->merge_past_arrays())) {
      result.fuser = fuser();
      result.fuser->run(best);
    }
  }
  return result;
}

}  // namespace

Program fuse(Graph graph, const Target& target, const Facts& facts, const PlanOptions& options) {
  Program program;
  program.facts = facts;
  read_inputs_as_values(graph.data());
  copy_repeated_scatters(graph.data());
  assign_call_buffers(graph.data());
  Fused best = fused(std::move(graph), program, target, options.fuse);
  const std::vector<int> views =
      options.fuse ? views_to_compute(best.graph->data(), best.fuser->groups) : std::vector<int>();
  if (!views.empty()) {
    Graph other = compact(*best.graph);
    compute_views(other.data(), views);
    assign_call_buffers(other.data());
    Fused computed = fused(compact(other), program, target);
    if (computed.fuser->seconds() < best.fuser->seconds()) best = std::move(computed);
  }
  program.graph = best.graph;
  program.lazy_names = best.names;
  assemble(program, *best.fuser, options.fuse);
  return program;
}

}  // namespace sinter
