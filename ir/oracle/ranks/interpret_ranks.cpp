#include "ir/oracle/ranks/interpret_ranks.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/collectives/collective_node.h"
#include "ir/oracle/interpret_ops.h"
#include "ir/oracle/ranks/interpret_collective.h"
#include "ir/shape/extent.h"
#include "ir/verify/symbol_sizes.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class RanksInterpreter {
 public:
  RanksInterpreter(const GraphData& graph, std::span<const RankInputs> ranks,
                   const RankGroups& groups)
      : graph_(graph), ranks_(ranks), groups_(groups) {
    for (const RankInputs& rank : ranks) check_sizes(graph, rank.symbols);
    values_.resize(ranks.size(), std::vector<Expected>(graph.nodes.size()));
  }

  void run() {
    for (const Node* node : graph_.nodes) {
      if (is_collective(node->op)) {
        interpret_groups(*node);
        continue;
      }
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        values_[rank][node->id] = interpret_node(graph_, ranks_[rank].inputs,
                                                 {.node = *node,
                                                  .operands = operands_of(*node, rank),
                                                  .shape = evaluate_all(node->shape,
                                                                        ranks_[rank].symbols),
                                                  .symbols = ranks_[rank].symbols});
    }
  }

  Interpretation results_of(std::size_t rank) const {
    return collect_results(graph_, [&](const Node* node) { return values_[rank][node->id]; });
  }

 private:
  std::vector<const Expected*> operands_of(const Node& node, std::size_t rank) const {
    std::vector<const Expected*> operands;
    for (const Node* operand : node.operands) operands.push_back(&values_[rank][operand->id]);
    return operands;
  }

  [[noreturn]] void fail(const Node& node, std::string_view what) const {
    throw UserError(fmt::format("{}: {} (recorded at {})", info(node.op).name, what,
                                graph_.location_text(&node)));
  }

  std::vector<std::vector<int>> groups_of(const Node& node) const {
    const auto found = groups_.find(group_of(node));
    if (found != groups_.end()) return found->second;
    std::vector<int> all(ranks_.size());
    std::iota(all.begin(), all.end(), 0);
    return {all};
  }

  void interpret_groups(const Node& node) {
    std::vector<bool> is_done(ranks_.size());
    for (const std::vector<int>& group : groups_of(node)) {
      if (std::ssize(group) != ranks_of(node))
        fail(node, fmt::format("group {} has {} ranks, but the oracle has {}", group_of(node),
                               ranks_of(node), group.size()));
      std::vector<const Expected*> operands;
      for (const int rank : group) {
        const auto index = static_cast<std::size_t>(rank);
        if (rank < 0 || index >= ranks_.size())
          fail(node, fmt::format("group {} has rank {}, but the program has {} ranks",
                                 group_of(node), rank, ranks_.size()));
        if (is_done[index])
          fail(node, fmt::format("rank {} is in two groups {}", rank, group_of(node)));
        operands.push_back(operands_of(node, index).front());
        is_done[index] = true;
        if (operands.back()->shape != operands.front()->shape)
          fail(node, fmt::format("rank {} has an operand of shape [{}], and rank {} of shape [{}]",
                                 group.front(), fmt::join(operands.front()->shape, ", "), rank,
                                 fmt::join(operands.back()->shape, ", ")));
      }
      std::vector<Expected> results = interpret_collective(node, operands);
      for (std::size_t i = 0; i < group.size(); ++i)
        values_[static_cast<std::size_t>(group[i])][node.id] = std::move(results[i]);
    }
    const auto missing = std::ranges::find(is_done, false);
    if (missing != is_done.end())
      fail(node, fmt::format("rank {} is in no group {}", missing - is_done.begin(),
                             group_of(node)));
  }

  const GraphData& graph_;
  std::span<const RankInputs> ranks_;
  const RankGroups& groups_;
  std::vector<std::vector<Expected>> values_;  ///< per rank, by node id
};

}  // namespace

std::vector<Interpretation> interpret_ranks(const GraphData& graph,
                                            std::span<const RankInputs> ranks,
                                            const RankGroups& groups) {
  RanksInterpreter interpreter(graph, ranks, groups);
  interpreter.run();
  std::vector<Interpretation> results;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    results.push_back(interpreter.results_of(rank));
  return results;
}

}  // namespace sinter
