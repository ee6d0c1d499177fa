// Counts of launches: sectors, wavefronts, and classes of instructions.
#include "tests/virtual_gpu/execution/counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::counts_test {
namespace {

/// The counts of one warp that runs the body. %r1 is the lane, %rd1 the address of 64 KiB.
LaunchCounts counts_of(const std::string& body, const Launch& launch = {}) {
  KernelRunner runner;
  const std::uint64_t data = runner.array(std::vector<std::uint32_t>(16384));
  runner.run(kernel_text(".param .u64 data",
                         std::string(kRegisters) + ".shared .align 16 .b8 row[8192];\n" +
                             "ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\n"
                             "mov.u64 %rd2, row;\n" +
                             body + "\nret;"),
             launch, data);
  return runner.counts();
}

/// The sectors of a load of `instruction` at `bytes` per lane, from `offset` on.
std::uint64_t sectors(const std::string& load, int stride, int offset = 0) {
  return counts_of("mad.wide.u32 %rd3, %r1, " + std::to_string(stride) +
                   ", %rd1;\nadd.u64 %rd3, "
                   "%rd3, " +
                   std::to_string(offset) + ";\n" + load)
      .global_loads.transactions;
}

TEST(Counts, SectorsOfAdjacentLanes) {
  EXPECT_EQ(sectors("ld.global.u8 %r2, [%rd3];", 1), 1U);
  EXPECT_EQ(sectors("ld.global.u16 %h2, [%rd3];", 2), 2U);
  EXPECT_EQ(sectors("ld.global.u32 %r2, [%rd3];", 4), 4U);
  EXPECT_EQ(sectors("ld.global.u64 %rd4, [%rd3];", 8), 8U);
  EXPECT_EQ(sectors("ld.global.v2.u32 {%r2, %r3}, [%rd3];", 8), 8U);
  EXPECT_EQ(sectors("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];", 16), 16U);
}

TEST(Counts, SectorsOfMisalignedLoads) {
  EXPECT_EQ(sectors("ld.global.u32 %r2, [%rd3];", 4, 4), 5U);
  EXPECT_EQ(sectors("ld.global.u32 %r2, [%rd3];", 4, 32), 4U);
  EXPECT_EQ(sectors("ld.global.u8 %r2, [%rd3];", 1, 31), 2U);
}

TEST(Counts, SectorsOfStridedLoads) {
  EXPECT_EQ(sectors("ld.global.u32 %r2, [%rd3];", 0), 1U);
  EXPECT_EQ(sectors("ld.global.u32 %r2, [%rd3];", 8), 8U);
  EXPECT_EQ(sectors("ld.global.u32 %r2, [%rd3];", 32), 32U);
  EXPECT_EQ(sectors("ld.global.u32 %r2, [%rd3];", 1024), 32U);
}

TEST(Counts, FewestSectorsOfARequestHoldItsDistinctBytes) {
  const auto fewest = [](const std::string& body) { return counts_of(body).global_loads.fewest; };
  EXPECT_EQ(fewest("mad.wide.u32 %rd3, %r1, 4, %rd1; ld.global.u32 %r2, [%rd3+4];"), 4U);
  EXPECT_EQ(fewest("mad.wide.u32 %rd3, %r1, 1024, %rd1; ld.global.u32 %r2, [%rd3];"), 4U);
  EXPECT_EQ(fewest("mad.wide.u32 %rd3, %r1, 1024, %rd1; ld.global.u8 %r2, [%rd3];"), 1U);
  EXPECT_EQ(fewest("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];"), 1U);
}

TEST(Counts, UniqueBytesCountOnceInALaunch) {
  const LaunchCounts counts = counts_of(R"(
    mad.wide.u32 %rd3, %r1, 4, %rd1;
    st.global.u32 [%rd3], %r1;
    ld.global.u32 %r2, [%rd3];
    ld.global.u32 %r2, [%rd3];
    bar.sync 0;
    mad.wide.u32 %rd4, %r1, 16, %rd1;
    ld.global.u16 %h2, [%rd4+62];)");
  EXPECT_EQ(counts.global_stores.unique_bytes, 128U);
  // Five of the last loads are of bytes that the others have loaded, 27 are behind them.
  EXPECT_EQ(counts.global_loads.bytes, 320U);
  EXPECT_EQ(counts.global_loads.unique_bytes, 128U + 2 * 27);
}

TEST(Counts, RequestsAndBytesOfActiveLanes) {
  const LaunchCounts counts = counts_of(R"(
    mad.wide.u32 %rd3, %r1, 16, %rd1;
    setp.lt.u32 %p1, %r1, 3;
    @%p1 ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];
    @%p1 st.global.u16 [%rd3], %r2;
    setp.gt.u32 %p2, %r1, 99;
    @%p2 st.global.u32 [%rd3], %r2;)");
  EXPECT_EQ(counts.global_loads.requests, 1U);
  EXPECT_EQ(counts.global_loads.bytes, 48U);
  EXPECT_EQ(counts.global_loads.transactions, 2U);
  EXPECT_EQ(counts.global_stores.requests, 1U);
  EXPECT_EQ(counts.global_stores.bytes, 6U);
  EXPECT_EQ(counts.global_stores.transactions, 2U);
  EXPECT_EQ(counts.shared_loads.requests, 0U);
}

/// The wavefronts of a store to shared memory, with this many bytes between lanes.
std::uint64_t wavefronts(const std::string& store, int stride) {
  return counts_of("mad.wide.u32 %rd3, %r1, " + std::to_string(stride) + ", %rd2;\n" + store)
      .shared_stores.transactions;
}

TEST(Counts, WavefrontsOfBankConflicts) {
  const std::string store = "st.shared.u32 [%rd3], %r1;";
  EXPECT_EQ(wavefronts(store, 4), 1U);
  EXPECT_EQ(wavefronts(store, 8), 2U);
  EXPECT_EQ(wavefronts(store, 16), 4U);
  EXPECT_EQ(wavefronts(store, 128), 32U);
  EXPECT_EQ(wavefronts(store, 132), 1U);  // a padded column
  EXPECT_EQ(wavefronts(store, 12), 1U);   // odd strides have no conflicts
  EXPECT_EQ(wavefronts("st.shared.u8 [%rd3], %r1;", 1), 1U);
  EXPECT_EQ(wavefronts("st.shared.u16 [%rd3], %r1;", 2), 1U);
}

TEST(Counts, WavefrontsOfVectors) {
  EXPECT_EQ(wavefronts("st.shared.v2.u32 [%rd3], {%r1, %r1};", 8), 2U);
  EXPECT_EQ(wavefronts("st.shared.u64 [%rd3], %rd1;", 8), 2U);
  EXPECT_EQ(wavefronts("st.shared.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};", 16), 4U);
  EXPECT_EQ(wavefronts("st.shared.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};", 32), 8U);
  EXPECT_EQ(wavefronts("st.shared.v2.u32 [%rd3], {%r1, %r1};", 128), 32U);
}

TEST(Counts, FewestWavefrontsAreOnePer128BytesOfActiveThreads) {
  const auto fewest = [](const std::string& body) { return counts_of(body).shared_stores.fewest; };
  EXPECT_EQ(fewest("mad.wide.u32 %rd3, %r1, 128, %rd2; st.shared.u32 [%rd3], %r1;"), 1U);
  EXPECT_EQ(fewest("mad.wide.u32 %rd3, %r1, 8, %rd2; st.shared.u64 [%rd3], %rd1;"), 2U);
  EXPECT_EQ(fewest("setp.lt.u32 %p1, %r1, 5; mad.wide.u32 %rd3, %r1, 16, %rd2;\n"
                   "@%p1 st.shared.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};"),
            1U);
}

TEST(Counts, ABroadcastOfOneWordIsOneWavefront) {
  const LaunchCounts counts = counts_of(R"(
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.shared.v2.u32 [%rd2], {%r1, %r1};
    bar.sync 0;
    ld.shared.u32 %r2, [%rd2];
    ld.shared.v2.u32 {%r2, %r3}, [%rd2];)");
  EXPECT_EQ(counts.shared_loads.requests, 2U);
  // One wavefront for the word, and one for each half warp of the pair.
  EXPECT_EQ(counts.shared_loads.transactions, 3U);
  EXPECT_EQ(counts.shared_stores.transactions, 1U);
}

TEST(Counts, AtomicsAndLocalAccessesCountThreads) {
  const LaunchCounts counts = counts_of(R"(
    .local .align 4 .b32 own;
    setp.lt.u32 %p1, %r1, 5;
    @%p1 atom.global.add.u32 %r2, [%rd1], 1;
    red.global.add.u32 [%rd1+4], 1;
    st.local.u32 [own], %r1;
    @%p1 ld.local.u32 %r2, [own];)",
                                        {.grid = {2, 1, 1}});
  EXPECT_EQ(counts.atomics, 74U);
  EXPECT_EQ(counts.global_loads.requests + counts.global_stores.requests, 0U);
  EXPECT_EQ(counts.local_accesses, 74U);
  EXPECT_EQ(counts.blocks, 2U);
  EXPECT_EQ(counts.kernel, "kernel");
}

TEST(Counts, InstructionsOfThreadsByClass) {
  const LaunchCounts counts = counts_of(R"(
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra END;
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1+64], 1;
END:
    bar.sync 0;
    fence.acq_rel.gpu;
    mov.b64 {%r3, %r4}, %rd1;
    shfl.sync.bfly.b32 %r5, %r1, 1, 31, 255;)",
                                        {.block = {8, 1, 1}});
  // Each of the 8 threads runs two moves of the head, then the body without the skipped part.
  EXPECT_THAT(
      counts.instructions,
      ::testing::ElementsAre(::testing::Pair("arithmetic", 24), ::testing::Pair("control", 16),
                             ::testing::Pair("memory", 8), ::testing::Pair("move", 16),
                             ::testing::Pair("synchronization", 16)));
}

}  // namespace
}  // namespace sinter::virtual_gpu::counts_test
