// counters(): totals of the process.
#include "sinter/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "runtime/logging/counting.h"
#include "sinter/sinter.h"
#include "tests/support/run/run.h"

namespace sinter::counters_test {
namespace {

TEST(CountersTest, CountAProgram) {
  host_device().synchronize();  // releases memory of earlier captured runs now
  const Counters before = counters();
  Graph graph("counted");
  const Tensor x = graph.input("x", f32, {1234});
  graph.output("y", cosh(x) * 7.125);
  const Device device = host_device();
  const Executable executable = compile(graph, device, {.tune = Tune::quick});
  const Stream stream = device.stream();
  const Array from = device.empty(f32, {1234});
  const Array to = device.empty(f32, {1234});
  const Array other = device.empty(f32, {1234});
  device.upload(from, std::vector<float>(1234, 1), stream);
  Context context = executable.context();
  context.run(stream, {{"x", from}}, {{"y", to}});
  context.replay(stream, {{"x", from}}, {{"y", to}});
  context.replay(stream, {{"x", from}}, {{"y", other}});
  (void)device.download<float>(to, stream);
  const Executable again = compile(graph, device, {.tune = Tune::quick});
  const Counters after = counters();
  EXPECT_EQ(after.kernels.misses - before.kernels.misses, 1);
  EXPECT_EQ(after.kernels.hits - before.kernels.hits, 1);
  EXPECT_EQ(after.kernels.compiles - before.kernels.compiles, 1);
  EXPECT_EQ(after.plans - before.plans, 2);
  EXPECT_EQ(after.tunings - before.tunings, 1);
  EXPECT_EQ(after.kernel_launches - before.kernel_launches, 1);
  EXPECT_EQ(after.graph_launches - before.graph_launches, 2);
  EXPECT_EQ(after.graph_builds - before.graph_builds, 1);
  EXPECT_EQ(after.patched_nodes - before.patched_nodes, 1);
  EXPECT_EQ(after.copies - before.copies, 2);
  EXPECT_EQ(after.copied_bytes - before.copied_bytes, 2 * 1234 * 4);
  EXPECT_EQ(after.device_bytes - before.device_bytes, 3 * 1234 * 4);
  EXPECT_GE(after.peak_device_bytes, after.device_bytes);
}

TEST(CountersTest, KeepThePeakMemory) {
  const Device device = host_device();
  device.synchronize();  // as above
  const std::int64_t before = counters().device_bytes;
  {
    const Array large = device.empty(f32, {1 << 20});
    EXPECT_EQ(counters().device_bytes - before, 4 << 20);
  }
  EXPECT_EQ(counters().device_bytes, before);
  EXPECT_GE(counters().peak_device_bytes, before + (4 << 20));
}

TEST(CountersTest, KeepCountsOfFinishedThreads) {
  const std::int64_t before = counted(Count::copies);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int j = 0; j < 1000; ++j) count(Count::copies);
      });
  }
  EXPECT_EQ(counted(Count::copies) - before, 12000);
}

TEST(CountersTest, MatchTheJson) {
  const Counters now = counters();
  const auto json = nlohmann::json::parse(counters_json(now));
  EXPECT_EQ(json["kernels"]["misses"], now.kernels.misses);
  EXPECT_EQ(json["disk"]["why_off"], now.disk.why_off);
  EXPECT_EQ(json["copied_bytes"], now.copied_bytes);
  EXPECT_EQ(json["idle_device_bytes"], now.idle_device_bytes);
  EXPECT_EQ(json["memory_hits"], now.memory_hits);
  EXPECT_EQ(json["memory_misses"], now.memory_misses);
}

}  // namespace
}  // namespace sinter::counters_test
