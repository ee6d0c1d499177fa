// AdamW with sharded moments ends in the weights of one rank, bit for bit.
#include "tests/host/collectives/sharded_adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/doubles/thread_communicator.h"
#include "tests/support/run/run.h"

namespace sinter::sharded_adamw_test {
namespace {

using namespace test;

constexpr std::int64_t kRows = 12, kColumns = 5;
constexpr int kSteps = 4;

/// The part of `pieces` [12, rows, columns] that each rank has: gradients of 12 / ranks pieces. The
/// gradient of a rank is their sum, which is exact, so the number of ranks does not change it.
Graph step(int ranks) {
  Graph graph("sharded");
  const Tensor weight = graph.input("weight", f32, {kRows, kColumns});
  const Tensor pieces = graph.input("pieces", f32, {12 / ranks, kRows, kColumns});
  const Tensor slope = sum(pieces, {0}) * static_cast<float>(ranks);
  sharded_adamw(graph, weight, slope, {.name = "data", .size = ranks});
  return graph;
}

/// The weights after some steps, on every rank.
std::vector<float> train(int ranks) {
  std::vector<std::vector<float>> weights(static_cast<std::size_t>(ranks));
  const std::shared_ptr<ThreadGroup> group = ThreadGroup::of(ranks);
  on_every_rank(group, ranks, [&](int rank, const Communicator& communicator) {
    const Device device = host_device(rank);
    const Stream stream = device.stream();
    const auto filled = [&](Sizes shape, auto value) {
      const Array array = device.empty(f32, shape);
      std::vector<float> values(static_cast<std::size_t>(array.elements()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(i);
      device.upload(array, values, stream);
      return array;
    };
    const auto first_weight = [](std::size_t i) { return static_cast<float>(i % 7) - 3; };
    const std::int64_t rows = kRows / ranks, pieces = 12 / ranks;
    const auto shard_at = static_cast<std::size_t>(rank * rows * kColumns);
    const auto pieces_at = static_cast<std::size_t>(rank * pieces * kRows * kColumns);
    const auto zero = [](std::size_t) { return 0.0F; };
    const Array weight = filled({kRows, kColumns}, first_weight);
    const std::vector<Array> arrays = {
        filled({pieces, kRows, kColumns},
               [&](std::size_t i) {
                 return static_cast<float>((i + pieces_at) * 37 % 23) / 8 - 1;
               }),
        filled({rows, kColumns}, [&](std::size_t i) { return first_weight(i + shard_at); }),
        filled({rows, kColumns}, zero), filled({rows, kColumns}, zero)};
    const Executable program = compile(step(ranks), device, {.tune = Tune::off});
    std::vector<GroupCommunicator> communicators;
    if (ranks > 1) communicators.push_back({"data", communicator});
    Context context = program.context(communicators);
    for (int i = 0; i < kSteps; ++i)
      context.replay(stream,
                     {{"weight", weight},
                      {"pieces", arrays[0]},
                      {"shard", arrays[1]},
                      {"m", arrays[2]},
                      {"v", arrays[3]}},
                     {});
    weights[static_cast<std::size_t>(rank)] = device.download<float>(weight, stream);
  });
  for (const std::vector<float>& one : weights) EXPECT_EQ(one, weights[0]);
  return weights[0];
}

TEST(ShardedAdamW, WeightsEqualThoseOfOneRank) {
  const std::vector<float> alone = train(1);
  EXPECT_NE(alone[0], -3);  // it moved
  for (const int ranks : {2, 3, 4}) EXPECT_EQ(train(ranks), alone) << ranks << " ranks";
}

}  // namespace
}  // namespace sinter::sharded_adamw_test
