#include "compiler/plan.h"

#include "compiler/fusion/fuse.h"
#include "compiler/horizontal/fuse_launches.h"
#include "compiler/lowering/lower.h"
#include "compiler/passes/pass.h"
#include "compiler/program/guards.h"
#include "compiler/schedule/schedule_kernels.h"
#include "compiler/simplify/bucket_collectives.h"
#include "compiler/simplify/fold.h"
#include "compiler/simplify/graph_sweep.h"
#include "compiler/simplify/order_collectives.h"
#include "compiler/simplify/simplify.h"
#include "ir/support/slab_allocator.h"
#include "sinter/error.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr std::array<std::string_view, 6> kPasses = {"lower", "fold",     "simplify",
                                                     "fuse",  "schedule", "fuse_launches"};
constexpr std::array<std::string_view, 2> kNeeded = {"lower", "schedule"};

void check_has_result(const GraphData& graph) {
  if (graph.outputs.empty() && graph.updates.empty())
    throw UserError(
        fmt::format("graph {} has no output and no update, so there is nothing to "
                    "compute; call output before it is compiled",
                    graph.name));
}

/// The number of nodes other than inputs and numbers.
int count_ops(std::span<const Node* const> nodes) {
  return static_cast<int>(
      std::ranges::count_if(nodes, [](const Node* node) { return !is_source(node->op); }));
}

/// Drops nodes that rewriting left unreachable. A pass that changes something early in a long
/// program recreates everything that depends on it. If more than a third of the nodes is
/// unreachable, a copy of the graph frees their memory.
void drop_unreachable(Graph& graph, Passes& passes) {
  const std::vector<const Node*> nodes = reachable(graph.data());
  if (graph.data().nodes.size() == nodes.size()) return;
  if (graph.data().nodes.size() * 2 > nodes.size() * 3)
    graph = compact(graph, nodes);
  else
    graph.data().retain_nodes(nodes);
  passes.mark_verified(graph.data());
}

}  // namespace

Program plan(const Graph& recorded, const Target& target, const Facts& facts,
             const PlanOptions& options) {
  check_has_result(recorded.data());
  Passes passes(options, kPasses, kNeeded);
  // Without the fuse pass, each node gets its own kernel.
  PlanOptions fusion = options;
  fusion.fuse = options.fuse && !passes.is_skipped("fuse");

  Graph graph(recorded.name());
  std::vector<Guard> guards;
  int recorded_ops = 0;
  passes.run("lower", graph, [&] {
    const std::vector<const Node*> needed = reachable(recorded.data());
    recorded_ops = count_ops(needed);
    Lowered lowered = lower(recorded, needed, facts);
    graph = std::move(lowered.graph);
    guards = std::move(lowered.guards);
    for (std::size_t i = 0; i < options.unwritten_outputs.size(); ++i)
      graph.data().outputs[i].is_unwritten = options.unwritten_outputs[i];
  });
  bool is_folded = false;
  passes.run("fold", graph, [&] { is_folded = fold(graph.data()); });
  if (is_folded) drop_unreachable(graph, passes);
  passes.run("simplify", graph, [&] {
    simplify(graph.data());
    if (bucket_collectives(graph.data(), options.bucket_bytes)) simplify(graph.data());
  });

  Program program;
  passes.run("fuse", program, [&] {
    drop_unreachable(graph, passes);
    order_collectives(graph.data());
    SlabPool::release();  // frees unreachable nodes to make room for groups
    program = fuse(std::move(graph), target, facts, fusion);
    program.arch = target.arch;
    program.shared_per_block = target.shared_per_block_opt_in;
    program.numerics = options.numerics;
    program.recorded_ops = recorded_ops;
    for (Guard& guard : guards) add_guard(program.guards, std::move(guard));
  });
  passes.run("schedule", program, [&] { schedule(program, target); });
  if (fusion.fuse && !passes.is_skipped("fuse_launches"))
    passes.run("fuse_launches", program, [&] { fuse_launches(program, target); });
  return program;
}

}  // namespace sinter
