// CUDA Graphs of whole programs: built once, patched if arguments change, with the necessary
// dependencies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::replay_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// p -= scale * x, and two outputs. Without fusion, so that several kernels depend on each other.
Graph several_kernels() {
  Graph graph("several");
  const Extent n = graph.extent("n");
  const Tensor x = graph.input("x", f32, {n});
  const Tensor p = graph.input("p", f32, {n});
  const Tensor scale = graph.scalar("scale", f32);
  const Tensor step = x * scale;
  graph.output("a", step + 1.0);
  graph.output("b", p * 2.0);
  graph.update(p, p - step);
  return graph;
}

class Replay : public ::testing::Test {
 protected:
  Array upload(const std::vector<float>& values) {
    const Array array = device.empty(f32, {static_cast<std::int64_t>(values.size())});
    device.upload(array, values, stream);
    return array;
  }
  std::vector<float> download(const Array& array) { return device.download<float>(array, stream); }
  void replay(float scale = 2) {
    context.replay(stream, {{"x", x}, {"p", p}, {"scale", scale}}, {{"a", a}, {"b", b}});
  }

  Device device = host_device();
  Stream stream = device.stream();
  Executable executable =
      compile(several_kernels(), device, {.tune = Tune::off, .fuse = false}, "model.cpp", 5);
  Context context = executable.context();
  Array x = upload({1, 2, 3});
  Array p = upload({10, 10, 10});
  Array a = device.empty(f32, {3});
  Array b = device.empty(f32, {3});
};

TEST_F(Replay, MatchesARun) {
  replay();
  EXPECT_THAT(download(a), ElementsAre(3, 5, 7));
  EXPECT_THAT(download(b), ElementsAre(20, 20, 20));
  EXPECT_THAT(download(p), ElementsAre(8, 6, 4));
}

TEST_F(Replay, IsOneGraphLaunch) {
  replay();
  const std::uint64_t kernels = host::calls("cuLaunchKernelEx");
  const std::uint64_t graphs = host::calls("cuGraphLaunch");
  replay();
  EXPECT_EQ(host::calls("cuLaunchKernelEx"), kernels);
  EXPECT_EQ(host::calls("cuGraphLaunch"), graphs + 1);
}

TEST_F(Replay, BuildsOnceAndPatchesNothingWithoutChanges) {
  for (int i = 0; i < 5; ++i) replay();
  const Context::Counters counters = context.counters();
  EXPECT_EQ(counters.graph_builds, 1);
  EXPECT_EQ(counters.patched_nodes, 0);
  EXPECT_EQ(counters.graph_launches, 5);
  EXPECT_THAT(download(p), ElementsAre(0, -10, -20));
}

TEST_F(Replay, PatchesOnlyAffectedNodes) {
  replay();
  b = device.empty(f32, {3});  // one kernel writes it
  replay();
  EXPECT_EQ(context.counters().patched_nodes, 1);
  EXPECT_THAT(download(b), ElementsAre(16, 12, 8));
  replay(/*scale=*/1);  // one kernel multiplies by it
  EXPECT_EQ(context.counters().patched_nodes, 2);
  EXPECT_THAT(download(a), ElementsAre(2, 3, 4));
  EXPECT_EQ(context.counters().graph_builds, 1);
}

TEST_F(Replay, UpdatesArgumentsChangedByRunsInBetween) {
  replay();
  const Array other = device.empty(f32, {3});
  context.run(stream, {{"x", x}, {"p", p}, {"scale", 2.0F}}, {{"a", other}, {"b", b}});
  context.replay(stream, {{"x", x}, {"p", p}, {"scale", 2.0F}}, {{"a", other}, {"b", b}});
  device.upload(a, std::vector<float>{0, 0, 0}, stream);
  context.replay(stream, {{"x", x}, {"p", p}, {"scale", 3.0F}}, {{"a", other}, {"b", b}});
  EXPECT_THAT(download(other), ElementsAre(4, 7, 10));
  EXPECT_THAT(download(a), Each(0));
}

TEST_F(Replay, PatchesNewSizesOfTheSameClass) {
  const auto replay_size = [&](std::int64_t n) {
    x = upload(std::vector<float>(static_cast<std::size_t>(n), 1));
    p = upload(std::vector<float>(static_cast<std::size_t>(n), 5));
    a = device.empty(f32, {n});
    b = device.empty(f32, {n});
    replay();
    EXPECT_THAT(download(a), Each(3)) << n;
    EXPECT_THAT(download(p), Each(3)) << n;
  };
  replay_size(64);
  replay_size(4096);
  replay_size(64);
  EXPECT_EQ(context.counters().graph_builds, 1);
}

TEST_F(Replay, RunsEmptyPrograms) {
  x = p = a = b = device.empty(f32, {0});
  const std::uint64_t kernels = host::counters().kernels;
  replay();
  stream.synchronize();
  EXPECT_EQ(host::counters().kernels, kernels);
}

TEST_F(Replay, RespectsDependenciesInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    host::configure({.seed = seed});
    device.upload(p, std::vector<float>{10, 10, 10}, stream);
    replay();
    replay();
    EXPECT_THAT(download(p), ElementsAre(6, 2, -2)) << "seed " << seed;
    EXPECT_THAT(download(b), ElementsAre(16, 12, 8)) << "seed " << seed;
  }
  host::configure({});
}

TEST_F(Replay, WaitsForAnEarlierRunOnAnotherStream) {
  const Stream other = device.stream();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    host::configure({.seed = seed});
    device.upload(p, std::vector<float>{10, 10, 10}, stream);
    stream.synchronize();
    context.run(stream, {{"x", x}, {"p", p}, {"scale", 2.0F}}, {{"a", a}, {"b", b}});
    context.replay(other, {{"x", x}, {"p", p}, {"scale", 2.0F}}, {{"a", a}, {"b", b}});
    EXPECT_THAT(device.download<float>(p, other), ElementsAre(6, 2, -2)) << "seed " << seed;
    EXPECT_THAT(device.download<float>(b, other), ElementsAre(16, 12, 8)) << "seed " << seed;
  }
  host::configure({});
}

TEST_F(Replay, OverlapsWithCopiesOnAnotherStream) {
  Graph sums("sums");
  const Tensor total = sums.input("total", f32, {64});
  sums.update(total, total + sums.input("batch", f32, {64}));
  const Executable adder = compile(sums, device, {.tune = Tune::off});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    host::configure({.seed = seed});
    Context adding = adder.context();
    const Stream copies = device.stream();
    const Array sum = device.empty(f32, {64});
    device.upload(sum, std::vector<float>(64, 0), stream);
    const std::vector<Array> batches = {device.empty(f32, {64}), device.empty(f32, {64})};
    const std::vector<Event> used = {device.event(), device.event()};
    std::vector<PinnedArray> pinned;
    for (std::size_t step = 0; step < 8; ++step) {
      const Array& batch = batches[step % 2];
      pinned.push_back(device.pinned(f32, {64}));
      std::ranges::fill(pinned[step].elements_as<float>(), static_cast<float>(step));
      const Event copied = device.event();
      copies.wait(used[step % 2]);
      device.upload(batch, pinned[step], copies);
      copied.record(copies);
      stream.wait(copied);
      adding.replay(stream, {{"total", sum}, {"batch", batch}}, {});
      used[step % 2].record(stream);
    }
    EXPECT_THAT(download(sum), Each(28)) << "seed " << seed;
  }
  host::configure({});
}

TEST_F(Replay, WorksAfterAFailedInstantiation) {
  host::inject_fault("cuGraphInstantiateWithFlags", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(test::error_of<DriverError>([&] { replay(); }),
              HasSubstr("cuGraphInstantiateWithFlags failed on the host device"));
  replay();
  EXPECT_THAT(download(a), ElementsAre(3, 5, 7));
}

TEST_F(Replay, ErrorsNameTheKernelOfAFailedLaunch) {
  host::inject_fault("cuLaunchKernelEx", 2, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_THAT(test::error_of<DriverError>([&] {
                context.run(stream, {{"x", x}, {"p", p}, {"scale", 2.0F}}, {{"a", a}, {"b", b}});
              }),
              HasSubstr("cuLaunchKernelEx failed on the host device for kernel several_"));
}

TEST_F(Replay, WorksAfterAFailedArenaAllocation) {
  executable.prepare({{"n", 3}});
  host::inject_fault("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(
      test::error_of<DriverError>([&] { replay(); }),
      HasSubstr("cuMemAlloc failed on the host device for the arena of a context of several"));
  replay();
  EXPECT_THAT(download(a), ElementsAre(3, 5, 7));
}

}  // namespace
}  // namespace sinter::replay_test
