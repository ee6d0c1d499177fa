// The table of known GPUs, and the number of blocks that fit on an SM.
#include "compiler/target/target.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#if __has_include(<cuda_occupancy.h>)
#define HAS_CUDA_OCCUPANCY 1
#include <cstring>  // cuda_occupancy.h calls memcpy

#include <cuda_occupancy.h>
#endif

namespace sinter::target_test {
namespace {

TEST(TargetTest, DefaultIsH200) { EXPECT_EQ(known_targets()[0].name, "h200"); }

TEST(TargetTest, IsFoundByNameAndByArchitecture) {
  EXPECT_EQ(find_target("a100")->sm_count, 108);
  EXPECT_EQ(find_target("sm_90")->name, "h200");
  EXPECT_EQ(find_target("sm_89")->name, "rtx_4090");
  EXPECT_EQ(find_target("sm_1"), nullptr);
}

TEST(TargetTest, ArchitecturesWithoutANamedGpuHaveATarget) {
  for (const char* arch : {"sm_87", "sm_88", "sm_103", "sm_110", "sm_121"}) {
    const Target* const target = find_target(arch);
    ASSERT_NE(target, nullptr) << arch;
    EXPECT_EQ(target->name, arch);
    EXPECT_EQ(target->arch, arch);
    EXPECT_EQ(target->compute_capability, compute_capability_of(arch));
    EXPECT_GT(target->sm_count, 0) << arch;
    EXPECT_GE(target->shared_per_block_opt_in, 101376) << arch;
    EXPECT_LT(target->shared_per_block_opt_in, target->shared_per_sm) << arch;
    EXPECT_EQ(target->max_cluster > 1, target->compute_capability >= 90) << arch;
    EXPECT_GT(target->bandwidth, 1e11) << arch;
    EXPECT_GT(target->l2_bytes, 0) << arch;
    EXPECT_GT(target->bytes_in_flight, 0) << arch;
  }
}

TEST(TargetTest, KnownWordsAreFoundAndListedOnce) {
  const std::vector<std::string_view> words = known_archs_and_names();
  EXPECT_EQ(std::set<std::string_view>(words.begin(), words.end()).size(), words.size());
  for (const std::string_view word : words) EXPECT_NE(find_target(word), nullptr) << word;
  for (const std::string_view arch : known_archs()) EXPECT_EQ(find_target(arch)->arch, arch);
}

TEST(TargetTest, ComputeCapabilityIsTheNumberOfTheArchitecture) {
  EXPECT_EQ(compute_capability_of("sm_90"), 90);
  EXPECT_EQ(compute_capability_of("sm_103a"), 103);
  EXPECT_EQ(compute_capability_of("compute_121"), 121);
  EXPECT_EQ(compute_capability_of("h200"), 0);
  EXPECT_EQ(compute_capability_of("sm_"), 0);
}

TEST(TargetTest, UnknownArchitecturesAreLikeTheNextOlderOne) {
  EXPECT_EQ(nearest_older_target(107).arch, "sm_103");
  EXPECT_EQ(nearest_older_target(130).arch, "sm_121");
  EXPECT_EQ(nearest_older_target(0).name, "h200");
}

TEST(ClustersTest, TargetsStateOrEstimateHowManyRunAtOnce) {
  Target target = *find_target("h200");
  EXPECT_EQ(clusters_at_once(target, 1), 132);
  EXPECT_EQ(clusters_at_once(target, 2), 66);
  EXPECT_EQ(clusters_at_once(target, 8), 15);
  EXPECT_EQ(clusters_at_once(target, 16), 7);
  target.active_clusters.fill(kUnknownClusters);
  EXPECT_EQ(clusters_at_once(target, 2), 66);
  EXPECT_EQ(clusters_at_once(target, 8), 14);  // two of each 18 SMs, and 6 more, remain
  target.active_clusters = {0, 0, 0, 0};
  EXPECT_EQ(clusters_at_once(target, 2), 0);
  EXPECT_EQ(clusters_at_once(*find_target("rtx_5090"), 16), 0) << "not portable";
  EXPECT_EQ(clusters_at_once(*find_target("a100"), 2), 0);
}

TEST(ClustersTest, PartitionsRunFewer) {
  Target target = *find_target("h200");
  target.sm_count = 16;
  EXPECT_EQ(clusters_at_once(target, 8), 2);
  target.sm_count = 7;
  EXPECT_EQ(clusters_at_once(target, 8), 0);
}

TEST(TargetTest, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Target& target : known_targets()) EXPECT_TRUE(names.insert(target.name).second);
}

TEST(TargetTest, ArchitectureMatchesTheComputeCapability) {
  for (const Target& target : known_targets())
    EXPECT_EQ(target.arch, "sm_" + std::to_string(target.compute_capability));
}

TEST(TargetTest, AllFieldsAreSet) {
  for (const Target& target : known_targets()) {
    EXPECT_GT(target.sm_count, 0) << target.name;
    EXPECT_GT(target.shared_per_sm, 0) << target.name;
    EXPECT_GT(target.shared_per_block_opt_in, 0) << target.name;
    EXPECT_GT(target.l2_bytes, 0) << target.name;
    EXPECT_GT(target.bandwidth, 1e11) << target.name;
    EXPECT_GT(target.bytes_in_flight, 0) << target.name;
    EXPECT_GT(target.launch_seconds, 0) << target.name;
  }
}

TEST(OccupancyTest, ThreadsLimit) {
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 256, 32, 0), 8);
  EXPECT_EQ(blocks_per_sm(*find_target("rtx_4090"), 256, 32, 0), 6);
}

TEST(OccupancyTest, RegistersLimit) {
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 256, 40, 0), 6);
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 256, 64, 0), 4);
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 256, 128, 0), 2);
}

TEST(OccupancyTest, SharedMemoryLimits) {
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 128, 32, 64 * 1024), 3);
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 128, 32, 232448), 1);
}

TEST(OccupancyTest, BlocksLimit) { EXPECT_EQ(blocks_per_sm(*find_target("h200"), 32, 16, 0), 32); }

TEST(OccupancyTest, IsZeroForInvalidLaunches) {
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 1024, 80, 0), 0);
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 256, 32, 232449), 0);
  EXPECT_EQ(blocks_per_sm(*find_target("h200"), 1025, 16, 0), 0);
}

#ifdef HAS_CUDA_OCCUPANCY

/// The result of NVIDIA's occupancy calculator.
int expected_blocks(const Target& target, int threads, int registers, std::int64_t shared_bytes) {
  cudaOccDeviceProp device;
  device.computeMajor = target.compute_capability / 10;
  device.computeMinor = target.compute_capability % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = target.max_threads_per_sm;
  device.regsPerBlock = 65536;
  device.regsPerMultiprocessor = target.registers_per_sm;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(target.shared_per_sm);
  device.numSms = target.sm_count;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(target.shared_per_block_opt_in);
  device.reservedSharedMemPerBlock = target.compute_capability >= 80 ? 1024 : 0;
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = 1024;
  function.numRegs = registers;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = static_cast<std::size_t>(shared_bytes);
  function.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &function, &state, threads, static_cast<std::size_t>(shared_bytes));
  EXPECT_EQ(status, CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

class OccupancyCalculatorTest : public testing::TestWithParam<std::string> {};

TEST_P(OccupancyCalculatorTest, Agrees) {
  const Target& target = *find_target(GetParam());
  for (int threads = 32; threads <= 1024; threads += threads < 256 ? 32 : 64)
    for (int registers = 16; registers <= 255; registers += 7)
      for (std::int64_t shared = 0; shared <= target.shared_per_block_opt_in; shared += 4999)
        ASSERT_EQ(blocks_per_sm(target, threads, registers, shared),
                  expected_blocks(target, threads, registers, shared))
            << threads << " threads, " << registers << " registers, " << shared << " bytes";
}

INSTANTIATE_TEST_SUITE_P(Targets, OccupancyCalculatorTest,
                         testing::Values("h200", "a100", "b200", "rtx_4090", "a10", "t4", "sm_87",
                                         "sm_88"));

#else

TEST(OccupancyCalculatorTest, Agrees) {
  GTEST_SKIP() << "cuda_occupancy.h is not on the include path";
}

#endif

}  // namespace
}  // namespace sinter::target_test
