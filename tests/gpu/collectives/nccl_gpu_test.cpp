// Collectives of several GPUs by NCCL: results against the oracle, replays, captures, buckets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/collectives/nccl/nccl.h"
#include "runtime/device/device_state.h"
#include "tests/support/doubles/nccl_double.h"
#include "tests/support/doubles/stream_capture.h"
#include "tests/support/doubles/thread_communicator.h"
#include "tests/support/graphs/collective_graphs.h"
#include "tests/support/run/run.h"

namespace sinter::nccl_gpu_test {
namespace {

using namespace test;
using testing::ElementsAre;

constexpr NcclOptions kOneMinute = {.timeout = std::chrono::minutes(1)};

class GpuNccl : public NcclTest {
 protected:
  /// The results of every rank, each on a GPU of its own.
  std::vector<HostArrays> run_ranks(const Graph& graph, const std::vector<HostArrays>& inputs,
                                    const RunRequest& request) {
    const int ranks = static_cast<int>(inputs.size());
    std::vector<HostArrays> results(inputs.size());
    const NcclUniqueId id = nccl_unique_id();
    on_every_rank(ranks, [&](int rank) {
      const Graph own = parse(print(graph));
      RunRequest with_ranks = request;
      const Communicator data = Communicator::nccl(id, rank, ranks, gpu(rank), kOneMinute);
      with_ranks.communicators = {{"data", data}};
      const auto index = static_cast<std::size_t>(rank);
      results[index] = run_graph(own, gpu(rank), inputs[index], with_ranks).results;
      data.check();
    });
    return results;
  }

  void expect_correct(const Graph& graph, int ranks, const RunRequest& request = {}) {
    const std::vector<HostArrays> inputs = random_ranks(graph, ranks);
    expect_oracle(graph, inputs, run_ranks(graph, inputs, request));
  }
};

class GpuNcclDTypes : public GpuNccl, public testing::WithParamInterface<DType> {};

TEST_P(GpuNcclDTypes, EveryCollectiveMatchesTheOracle) {
  need_gpus(4);
  if (IsSkipped()) return;
  expect_correct(every_collective(GetParam(), 4, {Reduce::fast}), 4);
  expect_correct(every_collective(GetParam(), 3, {Reduce::fast}), 3, {.as_graph = true});
  expect_correct(every_collective(GetParam(), 2, {Reduce::fast}), 2);
}

INSTANTIATE_TEST_SUITE_P(DTypes, GpuNcclDTypes,
                         testing::Values(boolean, i8, i16, i32, i64, u8, u32, u64, f16, bf16, f32,
                                         f64, f8e4m3),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST_F(GpuNccl, OrderedReductionsMatchTheOracle) {
  need_gpus(3);
  if (IsSkipped()) return;
  const Graph graph = every_collective(f32, 3, {Reduce::ordered});
  expect_correct(graph, 3);
  expect_correct(graph, 3, {.as_graph = true});
}

TEST_F(GpuNccl, BucketsBecomeOneCall) {
  need_gpus(2);
  if (IsSkipped()) return;
  const Graph graph = sums(4, Reduce::fast);
  for (const bool as_graph : {false, true}) {
    expect_correct(graph, 2,
                   {.options = {.tune = Tune::off, .bucket_bytes = 0}, .as_graph = as_graph});
    if (NcclDouble::is_there()) {
      EXPECT_THAT(NcclDouble::calls(1), testing::StartsWith("ncclAllReduce 30 type 7 operation 0 "
                                                            "peer 0\nncclAllReduce 40"));
    }
    expect_correct(graph, 2,
                   {.options = {.tune = Tune::off, .bucket_bytes = 1 << 20}, .as_graph = as_graph});
    if (NcclDouble::is_there()) {
      EXPECT_THAT(NcclDouble::calls(1), testing::StartsWith("ncclAllReduce 120 type 7 operation 0 "
                                                            "peer 0\nncclAllReduce 60"));
    }
  }
}

/// A program with one collective, which needs no kernel.
Graph gather(int ranks) {
  Graph graph("gather");
  graph.output("y", all_gather(graph.input("x", i32, {1}), {.name = "data", .size = ranks}));
  return graph;
}

TEST_F(GpuNccl, RunsWithoutWaitsInBetween) {
  need_gpus(2);
  if (IsSkipped()) return;
  const NcclUniqueId id = nccl_unique_id();
  on_every_rank(2, [&](int rank) {
    const Device device = gpu(rank);
    const Communicator data = Communicator::nccl(id, rank, 2, device, kOneMinute);
    const Executable executable = compile(gather(2), device, {.tune = Tune::off});
    Context context = executable.context({{"data", data}});
    const Stream stream = device.stream();
    const Array x = device.empty(i32, {1});
    std::vector<Array> results;
    for (int i = 0; i < 20; ++i) {
      device.upload(x, std::vector<int>{100 * rank + i}, stream);
      results.push_back(device.empty(i32, {2}));
      if (i % 2 == 0)
        context.run(stream, {{"x", x}}, {{"y", results.back()}});
      else
        context.replay(stream, {{"x", x}}, {{"y", results.back()}});
    }
    for (int i = 0; i < 20; ++i)
      EXPECT_THAT(device.download<int>(results[static_cast<std::size_t>(i)], stream),
                  ElementsAre(i, 100 + i));
    data.check();
  });
}

TEST_F(GpuNccl, CanBeCapturedByTheUser) {
  need_gpus(2);
  if (IsSkipped()) return;
  const NcclUniqueId id = nccl_unique_id();
  on_every_rank(2, [&](int rank) {
    const Device device = gpu(rank);
    const Communicator data = Communicator::nccl(id, rank, 2, device, kOneMinute);
    const Executable executable = compile(gather(2), device, {.tune = Tune::off});
    const Stream stream = device.stream();
    const Array x = device.empty(i32, {1});
    const Array y = device.empty(i32, {2});
    std::optional<UserGraph> captured;
    {
      Context context = executable.context({{"data", data}});
      captured.emplace(stream, CU_STREAM_CAPTURE_MODE_RELAXED,
                       [&] { context.run(stream, {{"x", x}}, {{"y", y}}); });
    }
    for (int i = 0; i < 3; ++i) {
      device.upload(x, std::vector<int>{10 * rank + i}, stream);
      captured->launch(stream);
      EXPECT_THAT(device.download<int>(y, stream), ElementsAre(i, 10 + i));
    }
    data.check();
  });
}

TEST_F(GpuNccl, CallsArePrecise) {
  need_double(3);
  if (IsSkipped()) return;
  Graph graph("calls");
  const RankGroup group = {.name = "data", .size = 3};
  const Tensor x = graph.input("x", f16, {6, 2});
  graph.output("a", all_gather(x, group));
  graph.output("b", broadcast(x, group, 2));
  graph.output("c", all_to_all(x, group));
  graph.output("d", send_receive(x, group, {{0, 1}, {2, 2}}));
  graph.output("e", reduce_to(x, group, 1));
  graph.output("f", reduce_scatter(x, group, 0, RankReduction::max, Reduce::fast));
  expect_correct(graph, 3);
  const auto exchange = [](int peer) {
    const std::string end = " 8 type 1 operation 0 peer " + std::to_string(peer) + "\n";
    return "ncclSend" + end + "ncclRecv" + end;
  };
  EXPECT_EQ(NcclDouble::calls(0), "ncclAllGather 24 type 1 operation 0 peer 0\n"
                                  "ncclBroadcast 24 type 1 operation 0 peer 2\n" +
                                      exchange(0) + exchange(1) + exchange(2) +
                                      "ncclSend 24 type 1 operation 0 peer 1\n"
                                      "ncclReduce 12 type 6 operation 0 peer 1\n"
                                      "ncclReduceScatter 4 type 6 operation 2 peer 0");
}

TEST_F(GpuNccl, UsesACommunicatorOfTheProgram) {
  need_gpus(2);
  if (IsSkipped()) return;
  const nccl::Table& table = find_nccl().library->table;
  const NcclUniqueId id = nccl_unique_id();
  on_every_rank(2, [&](int rank) {
    const Device device = gpu(rank);
    nccl::ncclUniqueId name;
    std::memcpy(name.internal, id.bytes.data(), sizeof(name.internal));
    nccl::ncclComm_t own = nullptr;
    {
      const CurrentContext current(*device.state());
      nccl::ncclConfig_t config;
      ASSERT_EQ(table.ncclCommInitRankConfig(&own, 2, name, rank, &config), nccl::ncclSuccess);
    }
    {
      const Communicator data = Communicator::nccl(own, kOneMinute);
      EXPECT_EQ(data.rank(), rank);
      EXPECT_EQ(data.size(), 2);
      const Executable executable = compile(gather(2), device, {.tune = Tune::off});
      Context context = executable.context({{"data", data}});
      const Stream stream = device.stream();
      const Array x = device.empty(i32, {1});
      device.upload(x, std::vector<int>{7 + rank}, stream);
      const Outputs outputs = context.run(stream, {{"x", x}});
      EXPECT_THAT(device.download<int>(outputs[0], stream), ElementsAre(7, 8));
    }
    int size = 0;
    EXPECT_EQ(table.ncclCommCount(own, &size), nccl::ncclSuccess);  // it lives
    EXPECT_EQ(table.ncclCommDestroy(own), nccl::ncclSuccess);
  });
}

}  // namespace
}  // namespace sinter::nccl_gpu_test
