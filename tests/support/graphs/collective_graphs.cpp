#include "tests/support/graphs/collective_graphs.h"

#include <gtest/gtest.h>

#include "ir/oracle/check.h"
#include "ir/oracle/random_inputs.h"
#include "ir/oracle/ranks/interpret_ranks.h"

namespace sinter::test {

Graph every_collective(DType dtype, int ranks, const std::vector<Reduce>& orders) {
  const RankGroup group = {.name = "data", .size = ranks};
  Graph graph("every");
  const Tensor x = graph.input("x", dtype, {12, 5});
  graph.output("gathered", all_gather(x, group, 1));
  graph.output("sent", broadcast(x, group, ranks - 1));
  graph.output("exchanged", all_to_all(x, group, 0, 1));
  graph.output("passed", send_receive(x, group, {{0, ranks - 1}}));
  if (dtype == boolean || is_f8(dtype) || dtype == i16 || dtype == u16) return graph;
  graph.output("on_one", reduce_to(x, group, ranks - 1));
  for (const RankReduction reduction : {RankReduction::sum, RankReduction::prod, RankReduction::max,
                                        RankReduction::min, RankReduction::mean})
    for (const Reduce order : orders) {
      const std::string suffix = std::to_string(static_cast<int>(reduction)) +
                                 (order == Reduce::fast ? "_fast" : "_ordered");
      graph.output("reduced" + suffix,
                   all_reduce(x, group, {.reduction = reduction, .order = order}));
      graph.output("part" + suffix, reduce_scatter(x, group, 0, reduction, order));
    }
  return graph;
}

Graph sums(int arrays, Reduce order) {
  const RankGroup group = {.name = "data", .size = 2};
  Graph graph("sums");
  Tensor before;
  for (int i = 0; i < arrays; ++i) {
    Tensor x = graph.input("x" + std::to_string(i), f32, {i + 3, 10});
    if (i == arrays - 1) x = x * before;
    const Tensor y = all_reduce(x * 2, group, {.order = order});
    before = sum(y);
    graph.output("y" + std::to_string(i), y);
  }
  return graph;
}

std::vector<HostArrays> random_ranks(const Graph& graph, int ranks) {
  std::vector<HostArrays> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(random_inputs(graph, {}, static_cast<std::uint64_t>(rank) + 5));
  return inputs;
}

void expect_oracle(const Graph& graph, const std::vector<HostArrays>& inputs,
                   const std::vector<HostArrays>& results) {
  std::vector<RankInputs> ranks;
  for (const HostArrays& arrays : inputs) ranks.push_back({.inputs = arrays, .symbols = {}});
  const std::vector<Interpretation> expected = interpret_ranks(graph.data(), ranks);
  for (std::size_t rank = 0; rank < inputs.size(); ++rank)
    for (const auto& [name, value] : expected[rank].outputs)
      EXPECT_TRUE(check(value, results[rank].at(name)).passes())
          << describe(name, check(value, results[rank].at(name))) << ", rank " << rank;
}

}  // namespace sinter::test
