// The target of a GPU, from the attributes that its driver reports.
#include "runtime/device/gpu_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

#include "tests/support/doubles/null_driver.h"

namespace sinter::test::gpu_target_test {
namespace {

using ::testing::ElementsAre;

/// A GPU as its driver describes it.
struct Gpu {
  std::string name = "a GPU";
  std::map<unsigned, int> attributes = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 100},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2'000'000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 4096},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 131072},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 130048},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 24},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
  };
  std::map<unsigned, int> clusters = {{2, 50}, {4, 24}, {8, 11}};  ///< others are an invalid size
  bool loads_images = true;

  void set_capability(int capability) {
    attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = capability / 10;
    attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = capability % 10;
  }
};

/// The GPU that the driver below describes.
Gpu& gpu() {
  static Gpu described;
  return described;
}

CUresult describe_attribute(int* value, CUdevice_attribute which, CUdevice) {
  const auto found = gpu().attributes.find(which);
  if (found == gpu().attributes.end()) return CUDA_ERROR_INVALID_VALUE;
  *value = found->second;
  return CUDA_SUCCESS;
}

CUresult describe_name(char* name, int bytes, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", gpu().name.c_str());
  return CUDA_SUCCESS;
}

CUresult count_clusters(int* clusters, CUfunction, const CUlaunchConfig* config) {
  const unsigned size = config->attrs[0].value.clusterDim.x;
  EXPECT_EQ(config->gridDimX % size, 0U);
  const auto found = gpu().clusters.find(size);
  if (found == gpu().clusters.end()) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  *clusters = found->second;
  return CUDA_SUCCESS;
}

CUresult load_image(CUmodule* module, const void* image) {
  return gpu().loads_images ? give_handle(module, image) : CUDA_ERROR_UNKNOWN;
}

/// The target of `described`.
Target target_of(const Gpu& described) {
  gpu() = described;
  static const Driver driver = [] {
    Driver table = null_driver();
    table.cuDeviceGetAttribute = describe_attribute;
    table.cuDeviceGetName = describe_name;
    table.cuModuleLoadData = load_image;
    table.cuModuleGetFunction = give_handle<CUfunction, CUmodule, const char*>;
    table.cuOccupancyMaxActiveClusters = count_clusters;
    return table;
  }();
  Target target = DeviceState(driver, 0).target;
  target.name = target.arch = {};  // they belonged to the device
  return target;
}

Gpu gpu_of(int capability) {
  Gpu result;
  result.set_capability(capability);
  return result;
}

TEST(GpuTarget, UnknownGpusHaveTheLimitsThatTheDriverReports) {
  for (const int capability : {87, 103, 130}) {
    const Target target = target_of(gpu_of(capability));
    EXPECT_EQ(target.compute_capability, capability);
    EXPECT_EQ(target.sm_count, 100);
    EXPECT_EQ(target.max_threads_per_sm, 1024);
    EXPECT_EQ(target.max_blocks_per_sm, 24);
    EXPECT_EQ(target.shared_per_block_opt_in, 130048);
    // 2 GHz, two transfers per clock, 512 bytes each.
    EXPECT_DOUBLE_EQ(target.bandwidth, reached_of_peak(2.048e12));
  }
}

TEST(GpuTarget, NamedGpusKeepTheirBandwidth) {
  Gpu h200 = gpu_of(90);
  h200.name = "NVIDIA H200";
  EXPECT_EQ(target_of(h200).bandwidth, find_target("h200")->bandwidth);
}

TEST(GpuTarget, MigInstancesHaveAShareOfTheBandwidth) {
  const Target& whole = *find_target("h200");
  Gpu slice = gpu_of(90);
  slice.name = "NVIDIA H200 MIG 1g.18gb";
  slice.attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 16;
  slice.attributes[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = static_cast<int>(whole.l2_bytes / 8);
  EXPECT_DOUBLE_EQ(target_of(slice).bandwidth, whole.bandwidth / 8);
  EXPECT_EQ(target_of(slice).sm_count, 16);
  slice.attributes[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 0;  // unknown
  EXPECT_EQ(target_of(slice).bandwidth, whole.bandwidth);
}

TEST(GpuTarget, WithoutAMemoryClockTheBandwidthIsThatOfTheNearestTarget) {
  Gpu silent = gpu_of(103);
  silent.attributes[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 0;
  EXPECT_EQ(target_of(silent).bandwidth, find_target("sm_103")->bandwidth);
  silent.attributes.erase(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  EXPECT_EQ(target_of(silent).bandwidth, find_target("sm_103")->bandwidth);
}

TEST(GpuTarget, TheDriverStatesWhetherThereAreClusters) {
  EXPECT_EQ(target_of(gpu_of(103)).max_cluster, 8);
  EXPECT_EQ(target_of(gpu_of(89)).max_cluster, 1);
  Gpu without = gpu_of(103);
  without.attributes[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = 0;
  EXPECT_EQ(target_of(without).max_cluster, 1);
  without.attributes.erase(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  EXPECT_EQ(target_of(without).max_cluster, 1);
}

TEST(GpuTarget, TheDriverStatesHowManyClustersRunAtOnce) {
  EXPECT_THAT(target_of(gpu_of(90)).active_clusters, ElementsAre(50, 24, 11, 0));
  Gpu small = gpu_of(90);
  small.clusters = {{2, 3}, {4, 1}, {8, 0}};  // a partition
  EXPECT_EQ(target_of(small).max_cluster, 4);
  EXPECT_EQ(largest_cluster(target_of(small)), 4);
}

TEST(GpuTarget, AnUnansweredQuestionLeavesAnEstimate) {
  Gpu broken = gpu_of(90);
  broken.loads_images = false;
  const Target target = target_of(broken);
  EXPECT_THAT(target.active_clusters, testing::Each(kUnknownClusters));
  EXPECT_EQ(target.max_cluster, 8);
  EXPECT_GT(clusters_at_once(target, 8), 0);
}

}  // namespace
}  // namespace sinter::test::gpu_target_test
