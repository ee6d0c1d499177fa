// Collectives on host devices whose ranks are threads: results against the oracle, equal bits for
// any number of ranks, buckets, and the order of calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/oracle/random_inputs.h"
#include "sinter/gradient.h"
#include "sinter/text.h"
#include "tests/support/doubles/thread_communicator.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/collective_graphs.h"
#include "tests/support/run/run.h"

namespace sinter::collectives_host_test {
namespace {

using namespace test;
using testing::HasSubstr;

/// The results of every rank, each on a host device of its own.
std::vector<HostArrays> run_ranks(const Graph& graph, const std::vector<HostArrays>& inputs,
                                  const RunRequest& request,
                                  std::vector<CarriedCollective>* carried = nullptr) {
  const int ranks = static_cast<int>(inputs.size());
  std::vector<HostArrays> results(inputs.size());
  const std::shared_ptr<ThreadGroup> group = ThreadGroup::of(ranks);
  on_every_rank(group, ranks, [&](int rank, const Communicator& communicator) {
    const Graph own = parse(print(graph));
    RunRequest with_ranks = request;
    if (ranks > 1) with_ranks.communicators = {{"data", communicator}};
    const auto index = static_cast<std::size_t>(rank);
    results[index] = run_graph(own, host_device(rank), inputs[index], with_ranks).results;
    communicator.check();
  });
  if (carried) *carried = group->carried();
  return results;
}

/// Fails unless the results of all ranks agree with the oracle.
void expect_correct(const Graph& graph, const std::vector<HostArrays>& inputs,
                    const RunRequest& request) {
  SCOPED_TRACE(testing::Message() << inputs.size() << " ranks, "
                                  << (request.as_graph ? "replay" : "run")
                                  << (request.options.fuse ? "" : ", unfused"));
  expect_oracle(graph, inputs, run_ranks(graph, inputs, request));
}

class EveryCollective : public testing::TestWithParam<DType> {};

TEST_P(EveryCollective, MatchesTheOracle) {
  const Options quick = {.tune = Tune::off, .optimize_host = false};
  Options unfused = quick, apart = quick;
  unfused.fuse = false;
  apart.bucket_bytes = 0;
  for (const int ranks : {2, 3, 4}) {
    const Graph graph = every_collective(GetParam(), ranks);
    const std::vector<HostArrays> inputs = random_ranks(graph, ranks);
    expect_correct(graph, inputs, {.options = quick});
    if (ranks != 3) continue;
    expect_correct(graph, inputs, {.options = quick, .as_graph = true});
    expect_correct(graph, inputs, {.options = unfused});
    expect_correct(graph, inputs, {.options = apart});
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryCollective,
                         testing::Values(boolean, i8, i16, i32, i64, u8, u64, f16, bf16, f32, f64,
                                         f8e4m3),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

std::vector<std::int64_t> sizes_of(const std::vector<CarriedCollective>& carried) {
  std::vector<std::int64_t> sizes;
  for (const CarriedCollective& one : carried) sizes.push_back(one.elements);
  return sizes;
}

TEST(CollectivesHost, BucketsBecomeOneCall) {
  const Graph graph = sums(4, Reduce::fast);
  const std::vector<HostArrays> inputs = random_ranks(graph, 2);
  std::vector<CarriedCollective> carried;
  const auto with_bucket = [&](std::int64_t bytes) {
    std::vector<HostArrays> results =
        run_ranks(graph, inputs, {.options = {.tune = Tune::off, .bucket_bytes = bytes}}, &carried);
    return results;
  };
  const std::vector<HostArrays> alone = with_bucket(0);
  EXPECT_EQ(sizes_of(carried), (std::vector<std::int64_t>{30, 40, 50, 60}));
  const std::vector<HostArrays> joint = with_bucket(1 << 20);
  EXPECT_EQ(sizes_of(carried), (std::vector<std::int64_t>{120, 60}));
  with_bucket(70 * 4);
  EXPECT_EQ(sizes_of(carried), (std::vector<std::int64_t>{70, 50, 60}));
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const auto& [name, array] : alone[rank])
      EXPECT_TRUE(std::ranges::equal(array.bytes(), joint[rank].at(name).bytes())) << name;
  expect_correct(sums(5, Reduce::ordered), random_ranks(sums(5, Reduce::ordered), 2), {});
}

// Without an order of their own, the ranks could plan different ones, because their sizes differ.
TEST(CollectivesHost, AllRanksCallInTheRecordedOrder) {
  const RankGroup group = {.name = "data", .size = 2};
  Graph graph("order");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, 64});
  const Tensor a = all_reduce(sum(x * 2, {0}), group, {.order = Reduce::fast});
  const Tensor b = all_reduce(max(x), group, {.reduction = RankReduction::max});
  const Tensor c = all_reduce(sum(exp(x), {0}) * 3, group,
                              {.reduction = RankReduction::max, .order = Reduce::fast});
  graph.output("y", a + c);
  graph.output("z", x * b);
  const std::shared_ptr<ThreadGroup> threads = ThreadGroup::of(2);
  on_every_rank(threads, 2, [&](int rank, const Communicator& communicator) {
    const Graph own = parse(print(graph));
    const std::vector<std::int64_t> sizes = {rank == 0 ? 3 : 70'000};
    run_graph(own, host_device(rank), random_inputs(own, sizes, 1),
              {.symbols = sizes, .communicators = {{"data", communicator}}});
  });
  std::vector<std::pair<Collective, RankReduction>> calls;
  for (const CarriedCollective& one : threads->carried())
    calls.emplace_back(one.kind, one.reduction);
  // The second is an ordered maximum, which gathers.
  EXPECT_THAT(calls, testing::ElementsAre(
                         std::pair(Collective::all_reduce, RankReduction::sum),
                         std::pair(Collective::all_gather, RankReduction::sum),
                         std::pair(Collective::all_reduce, RankReduction::max)));
}

TEST(CollectivesHost, ContextsNeedACommunicatorOfEachGroup) {
  Graph graph("two");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor y = all_gather(x, {.name = "data", .size = 2});
  graph.output("y", all_gather(y, {.name = "model", .size = 3}));
  const Executable executable = compile(graph, host_device(0), {.tune = Tune::off}, "m.cpp", 9);
  const Communicator two = ThreadGroup::of(2)->communicator(0);
  const Communicator three = ThreadGroup::of(3)->communicator(0);
  EXPECT_EQ(error_of([&] { executable.context(); }),
            "context of two: group data of 2 ranks has no communicator; call "
            "context({{\"data\", communicator}}) (compiled at m.cpp:9)");
  EXPECT_EQ(error_of([&] {
              executable.context({{"data", three}, {"model", three}});
            }),
            "context of two: group data was recorded with 2 ranks, but its communicator has 3; "
            "record the graph with RankGroup{\"data\", communicator.size()} (compiled at m.cpp:9)");
  EXPECT_EQ(error_of([&] {
              executable.context({{"daten", two}});
            }),
            "context of two: the program has no group daten; it has data (2 ranks), model (3 "
            "ranks) (compiled at m.cpp:9)");
  EXPECT_EQ(error_of([&] {
              executable.context({{"data", two}, {"data", two}});
            }),
            "context of two: group data has two communicators; give it one (compiled at m.cpp:9)");
  executable.context({{"data", two}, {"model", three}});
  const Executable plain = compile(parse("graph g(x: f32[4]) {\n  y = exp x\n  return y\n}\n"),
                                   host_device(0), {.tune = Tune::off}, "m.cpp", 12);
  EXPECT_EQ(error_of([&] {
              plain.context({{"data", two}});
            }),
            "context of g: the program has no collectives, so it needs no communicator for group "
            "data (compiled at m.cpp:12)");
}

/// One program text for any number of ranks: with one rank, nothing is recorded.
TEST(CollectivesHost, ACommunicatorOfOneRankNeedsNoGroup) {
  const Communicator one = ThreadGroup::of(1)->communicator(0);
  Graph graph("sum");
  const Tensor x = graph.input("x", f32, {2});
  graph.output("y", all_reduce(x, {.name = "data", .size = one.size()}) * 2);
  const Device device = host_device(0);
  Context context = compile(graph, device, {.tune = Tune::off}).context({{"data", one}});
  const Stream stream = device.stream();
  const Array xs = device.empty(f32, {2});
  device.upload(xs, std::vector<float>{3, 4}, stream);
  const Outputs outputs = context.run(stream, {{"x", xs}});
  EXPECT_EQ(device.download<float>(outputs["y"], stream), (std::vector<float>{6, 8}));

  Graph other("other");
  other.output("y", all_gather(other.input("x", f32, {4}), {.name = "data", .size = 2}));
  const Executable executable = compile(other, device, {.tune = Tune::off}, "m.cpp", 3);
  const Communicator two = ThreadGroup::of(2)->communicator(0);
  executable.context({{"data", two}, {"model", one}});
  EXPECT_EQ(error_of([&] {
              executable.context({{"data", two}, {"model", two}});
            }),
            "context of other: the program has no group model; it has data (2 ranks) (compiled at "
            "m.cpp:3)");
  EXPECT_EQ(error_of([&] {
              executable.context({{"data", one}});
            }),
            "context of other: group data was recorded with 2 ranks, but its communicator has 1; "
            "record the graph with RankGroup{\"data\", communicator.size()} (compiled at m.cpp:3)");
}

TEST(CollectivesHost, CommunicatorsNeedAnEngine) {
  EXPECT_EQ(error_of([] { Communicator(nullptr); }), "Communicator: the engine is null; pass one");
}

TEST(CollectivesHost, EnginesRefuseCallsBeforeARun) {
  Graph graph("g");
  graph.output("y", all_gather(graph.input("x", c64, {4}), {.name = "data", .size = 2}));
  const Executable executable = compile(graph, host_device(0), {.tune = Tune::off});
  Context context = executable.context({{"data", ThreadGroup::of(2)->communicator(0)}});
  const Device device = host_device(0);
  const Array x = device.empty(c64, {4});
  const Array y = device.empty(c64, {8});
  EXPECT_THAT(error_of([&] {
                context.run(device.stream(), {{"x", x}}, {{"y", y}});
              }),
              HasSubstr("all_gather: its function rejects this call: the double carries no c64 "
                        "(recorded at "));
}

}  // namespace
}  // namespace sinter::collectives_host_test
