// Rows that are distributed over the blocks of a cluster. Results are within the oracle's bounds
// and have the bits of every other schedule and the unfused graph. Each row is read once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/device/launch_grid.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/support/doubles/null_driver.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/run.h"

namespace sinter::test::row_clusters_host_test {
namespace {

using ::testing::HasSubstr;

/// Runs `text` with all checks. Expects that its kernel has clusters and reads each array once.
/// Without the launch attribute, the host device would report an error, because no other block
/// could be mapped.
void run_in_clusters(const std::string& text, std::vector<Size> sizes = {}) {
  const RunResult run = run_and_check(text, std::move(sizes));
  ASSERT_EQ(run.report.kernels.size(), 1U);
  const KernelReport& kernel = run.report.kernels[0];
  EXPECT_GT(kernel.cluster, 1) << kernel.schedule;
  EXPECT_LE(kernel.bytes_read + kernel.bytes_written, 1.01 * double(kernel.minimal_bytes));
}

class LongRows : public testing::TestWithParam<int> {};

TEST_P(LongRows, Softmax) {
  run_in_clusters(fmt::format(R"(
graph softmax(x: f32[rows, {0}]) {{
  y = softmax x {{axis = 1}}
  return y
}})",
                              GetParam()),
                  {{"rows", 9}});
}

TEST(RowsOfClusters, NormsWithStatesOfSeveralNumbers) {
  run_in_clusters(R"(
graph normed(x: f32[9, 100003], weight: f32[100003]) {
  v, m = var_mean x {axes = [1], keep = true}
  d = sub x, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul d, r
  y = mul n, weight
  return y, m
})");
}

INSTANTIATE_TEST_SUITE_P(Columns, LongRows, testing::Values(65536, 100003, 262144));

TEST(RowsOfClusters, LogsumexpAndArgmaxOfHalves) {
  run_in_clusters(R"(
graph picked(x: bf16[9, 131072]) {
  g = cast x {to = f32}
  a = logsumexp g {axes = [1], keep = true}
  i = argmax g {axis = 1}
  p = sub g, a
  y = cast p {to = bf16}
  return y, a, i
})");
}

TEST(RowsOfClusters, SoftmaxBackward) {
  run_in_clusters(R"(
graph softmax_backward(y: f32[9, 65540], g: f32[9, 65540]) {
  p = mul y, g
  s = sum p {axes = [1], keep = true}
  d = sub g, s
  dx = mul d, y
  return dx
})");
}

TEST(RowsOfClusters, CrossEntropyAndItsMeanOverTheRows) {
  run_in_clusters(R"(
graph cross_entropy(logits: bf16[9, 262144], label: i64[9, 1] {range = [0, 262143]}) {
  x = cast logits {to = f32}
  m = max x {axes = [1], keep = true}
  d = sub x, m
  e = exp d
  s = sum e {axes = [1], keep = true}
  l = log s
  lse = add l, m
  p = take_along_axis x, label {axis = 1}
  loss = sub lse, p
  total = sum loss {axes = [0, 1]}
  return loss, total
})");
}

TEST(RowsOfClusters, FollowedByALastBlock) {
  const RunResult run = run_and_check(R"(
graph followed(x: bf16[9, 131072]) {
  g = cast x {to = f32}
  m = max g {axes = [1], keep = true}
  d = sub g, m
  e = exp d
  s = sum e {axes = [1]}
  a = sum s {axes = [0]}
  c = cumsum s {axis = 0}
  r = div c, a
  return s, r
})");
  ASSERT_EQ(run.report.kernels.size(), 1U);
  EXPECT_EQ(run.report.kernels[0].kind, "horizontal");
  EXPECT_EQ(run.report.kernels[0].cluster, 8);
}

/// The number of rows changes between runs. Without rows, the last block has no predecessors.
TEST(RowsOfClusters, OneKernelServesAllNumbersOfRows) {
  const Device device = host_device();
  const Executable executable = compile(parse(R"(
graph followed(x: f32[rows, 65536]) {
  m = max x {axes = [1], keep = true}
  d = sub x, m
  s = min d {axes = [1]}
  c = cummax s {axis = 0}
  return s, c
})"),
                                        device, {.tune = Tune::off, .optimize_host = false});
  Context context = executable.context();
  const Stream stream = device.stream();
  for (const std::int64_t rows : {9, 0, 12}) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows * 65536; ++i)
      values.push_back(static_cast<float>(i % 65536 == 40000 ? -5 - i / 65536 : 1));
    const Array x = device.empty(f32, {rows, 65536});
    device.upload(x, values, stream);
    for (const bool as_graph : {false, true}) {
      const Array s = device.empty(f32, {rows});
      const Array c = device.empty(f32, {rows});
      if (as_graph)
        context.replay(stream, {{"x", x}}, {{"s", s}, {"c", c}});
      else
        context.run(stream, {{"x", x}}, {{"s", s}, {"c", c}});
      std::vector<float> least;
      for (std::int64_t row = 0; row < rows; ++row) least.push_back(static_cast<float>(-6 - row));
      EXPECT_EQ(device.download<float>(s, stream), least);
      EXPECT_EQ(device.download<float>(c, stream),
                std::vector<float>(static_cast<std::size_t>(rows), -6));
    }
  }
  const Report report = executable.report();
  ASSERT_EQ(report.variants.size(), 1U);
  EXPECT_EQ(report.kernels.at(0).kind, "horizontal");
  EXPECT_GT(report.kernels.at(0).cluster, 1);
}

TEST(RowsOfClusters, TriesSixteenBlocksIfTheDeviceSupportsThem) {
  host::reset_counters();
  Graph graph("softmax");
  graph.output("y", softmax(graph.input("x", bf16, {9, 65536})));
  const Report report = compile(graph, host_device(), {.tune = Tune::quick}).report();
  EXPECT_GT(host::calls("cuOccupancyMaxActiveClusters"), 0U);
  bool found = false;
  for (const CandidateReport& candidate : report.kernels.at(0).candidates) {
    EXPECT_EQ(candidate.problem, "") << candidate.schedule;
    found |= candidate.schedule.find("clusters of 16 blocks") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(ClusterLaunches, SkipsSizesThatDoNotFitTheDevice) {
  DeviceState none(null_driver(), 0);  // supports 0 clusters
  Source source{.entry = "rows", .text = {}, .threads = 512, .cluster = 16};
  EXPECT_THAT(cluster_problem(none, source, nullptr),
              HasSubstr("has no room for a cluster of 16 blocks of 512 threads"));
  source.cluster = 8;  // every device supports these
  EXPECT_EQ(cluster_problem(none, source, nullptr), "");
  Driver old = null_driver();
  old.cuOccupancyMaxActiveClusters = nullptr;
  DeviceState silent(old, 0);
  source.cluster = 16;
  EXPECT_EQ(cluster_problem(silent, source, nullptr),
            "the driver cannot tell if clusters of 16 blocks fit");
}

/// CUDA_ERROR_INVALID_CLUSTER_SIZE means that clusters do not fit. Other errors are reported.
TEST(ClusterLaunches, InvalidClusterSizeMeansNoClusters) {
  Driver driver = null_driver();
  driver.cuOccupancyMaxActiveClusters = [](int*, CUfunction, const CUlaunchConfig*) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  };
  const Source source{.entry = "rows", .text = {}, .threads = 512, .cluster = 16};
  DeviceState none(driver, 0);
  EXPECT_THAT(cluster_problem(none, source, nullptr),
              HasSubstr("has no room for a cluster of 16 blocks of 512 threads"));
  driver.cuOccupancyMaxActiveClusters = [](int*, CUfunction, const CUlaunchConfig*) {
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  DeviceState broken(driver, 0);
  EXPECT_THAT(error_of<DriverError>([&] { (void)cluster_problem(broken, source, nullptr); }),
              HasSubstr("failed on the null device for the clusters of kernel rows: error 700"));
}

TEST(ClusterLaunches, AttributesHaveTheSizeAndEarlyStart) {
  const Source source{.entry = "rows", .text = {}, .threads = 32, .cluster = 4};
  const LaunchAttributes in_stream = stream_attributes(source, /*starts_early=*/true);
  ASSERT_EQ(in_stream.count, 2U);
  EXPECT_EQ(in_stream.list[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(in_stream.list[0].value.clusterDim.x, 4U);
  EXPECT_EQ(in_stream.list[1].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(stream_attributes(source, /*starts_early=*/false).count, 1U);
  EXPECT_EQ(node_attributes(source).count, 1U);
}

}  // namespace
}  // namespace sinter::test::row_clusters_host_test
