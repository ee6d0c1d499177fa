// mbarrier instructions: phases, order, copies, and remote arrivals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/async/tests/mbarrier_kernels.h"

namespace sinter::virtual_gpu::mbarrier_instructions_test {
namespace {

using ::testing::HasSubstr;

// ---- Phases ----

TEST(MBarrierInstructions, AnArrivalReleasesAndAWaitAcquires) {
  expect_mbarrier_results(64,
                          R"(
    st.shared.u32 [%rd4], %r1;
    mbarrier.arrive.shared.b64 %rd6, [bar];)" +
                              std::string(kWaitForState) + R"(
    xor.b32 %r4, %r1, 63;
    mad.wide.u32 %rd7, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd7];)",
                          [](auto i) { return i ^ 63; });
}

TEST(MBarrierInstructions, PhasesAlternateTheirParity) {
  // Five rounds in which each thread reads what its partner wrote in the same round. The parity
  // must be that of the round.
  expect_mbarrier_results(64, R"(
    mov.u32 %r5, 0;
ROUND:
    mad.lo.u32 %r6, %r5, 100, %r1;
    st.shared.u32 [%rd4], %r6;
    mbarrier.arrive.release.cta.shared::cta.b64 %rd6, [bar];
    and.b32 %r7, %r5, 1;
WAIT:
    mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p2, [%rd5], %r7;
    @!%p2 bra WAIT;
    xor.b32 %r4, %r1, 63;
    mad.wide.u32 %rd7, %r4, 4, %rd3;
    ld.shared.u32 %r8, [%rd7];
    add.u32 %r2, %r2, %r8;
    bar.sync 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p3, %r5, 5;
    @%p3 bra ROUND;)",
                          [](auto i) { return 1000 + 5 * (i ^ 63); });
}

TEST(MBarrierInstructions, TheParityOfThePhaseBeforeTheFirstIsComplete) {
  // A producer waits for parity 1 of a new barrier without blocking.
  expect_mbarrier_results(1, R"(
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1, 1000;
    mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;
    selp.u32 %r2, 1, 0, %p2;
    selp.u32 %r3, 10, 0, %p3;
    add.u32 %r2, %r2, %r3;)",
                          [](auto) { return 1; });
}

TEST(MBarrierInstructions, ACountArrivesForSeveralThreads) {
  expect_mbarrier_results(64, R"(
    setp.lt.u32 %p4, %r1, 4;
    st.shared.u32 [%rd4], %r1;
    bar.warp.sync -1;
    @%p4 mbarrier.arrive.shared.b64 %rd6, [bar], 16;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    mov.u32 %r2, 7;)",
                          [](auto) { return 7; });
}

TEST(MBarrierInstructions, DroppedThreadsNeedNotArriveAgain) {
  expect_mbarrier_results(64,
                          R"(
    setp.ge.u32 %p4, %r1, 32;
    @%p4 mbarrier.arrive_drop.shared.b64 %rd6, [bar];
    @!%p4 mbarrier.arrive.shared.b64 %rd6, [bar];)" +
                              std::string(kWaitForState) + R"(
    bar.sync 0;
    @%p4 bra END;
    mbarrier.arrive.shared.b64 %rd6, [bar];
AGAIN:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra AGAIN;
    mov.u32 %r2, 1;
END:)",
                          [](auto i) { return i < 32 ? 1u : 0u; });
}

TEST(MBarrierInstructions, ThePendingCountIsThatBeforeTheArrival) {
  expect_mbarrier_results(
      9, R"(
    mbarrier.arrive.noComplete.shared.b64 %rd6, [bar], 2;
    mbarrier.arrive.noComplete.release.cta.shared.b64 %rd7, [bar], 3;
    mbarrier.pending_count.b64 %r3, %rd6;
    mbarrier.pending_count.b64 %r4, %rd7;
    mad.lo.u32 %r2, %r3, 100, %r4;)",
      [](auto) { return 907; }, 1);
}

TEST(MBarrierInstructions, TransactionsKeepAPhaseOpen) {
  expect_mbarrier_results(
      1, R"(
    mbarrier.arrive.expect_tx.shared.b64 %rd6, [bar], 40;
    mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 8;
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd6;
    mbarrier.complete_tx.shared.b64 [bar], 16;
    mbarrier.test_wait.shared.b64 %p3, [bar], %rd6;
    mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 32;
    mbarrier.test_wait.shared.b64 %p4, [bar], %rd6;
    selp.u32 %r3, 1, 0, %p2;
    selp.u32 %r4, 2, 0, %p3;
    selp.u32 %r5, 4, 0, %p4;
    add.u32 %r2, %r3, %r4;
    add.u32 %r2, %r2, %r5;)",
      [](auto) { return 4; }, 1);
}

TEST(MBarrierInstructions, GenericAddressesWork) {
  expect_mbarrier_results(
      1, R"(
    cvta.shared.u64 %rd8, %rd5;
    mbarrier.arrive.b64 %rd6, [%rd8];
    mbarrier.test_wait.b64 %p2, [%rd8], %rd6;
    selp.u32 %r2, 1, 0, %p2;
    mbarrier.inval.b64 [%rd8];
    mbarrier.init.b64 [%rd8], 5;
    mbarrier.arrive.noComplete.b64 %rd6, [%rd8], 1;
    mbarrier.pending_count.b64 %r3, %rd6;
    mad.lo.u32 %r2, %r3, 10, %r2;)",
      [](auto) { return 51; }, 1);
}

TEST(MBarrierInstructions, MemoryServesAgainBehindAnInvalidation) {
  expect_mbarrier_results(
      1, R"(
    mbarrier.inval.shared.b64 [bar];
    st.shared.u64 [bar], 5;
    ld.shared.u32 %r2, [bar];)",
      [](auto) { return 5; }, 1);
}

TEST(MBarrierInstructions, LanesThatPollLetTheOthersArrive) {
  // Each half of a warp polls at a place of its own.
  expect_mbarrier_results(64, R"(
    and.b32 %r5, %r1, 16;
    setp.eq.u32 %p4, %r5, 0;
    @%p4 bra FIRST;
    mbarrier.arrive.shared.b64 %rd6, [bar];
SECOND:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra SECOND;
    mov.u32 %r2, 2;
    bra END;
FIRST:
    mbarrier.arrive.shared.b64 %rd6, [bar];
AGAIN:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra AGAIN;
    mov.u32 %r2, 1;
END:)",
                          [](auto i) { return i & 16 ? 2u : 1u; });
}

TEST(MBarrierInstructions, ABarrierAwaitsLanesThatPoll) {
  expect_mbarrier_results(64, R"(
    and.b32 %r5, %r1, 31;
    setp.eq.u32 %p4, %r5, 0;
    @!%p4 bra OTHERS;
    mbarrier.arrive.shared.b64 %rd6, [bar];
WAIT:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra WAIT;
    mov.u32 %r2, 2;
    bra END;
OTHERS:
    mbarrier.arrive.shared.b64 %rd6, [bar];
END:
    bar.warp.sync -1;
    bar.sync 0;
    shfl.sync.idx.b32 %r4, %r2, 0, 31, -1;
    mad.lo.u32 %r2, %r4, 10, %r2;)",
                          [](auto i) { return i % 32 ? 20u : 22u; });
}

TEST(MBarrierInstructions, LanesThatPollForeverAreADeadlock) {
  EXPECT_THAT(mbarrier_violation(65, R"(
    and.b32 %r5, %r1, 16;
    setp.eq.u32 %p4, %r5, 0;
    mbarrier.arrive.shared.b64 %rd6, [bar];
    @%p4 bra FIRST;
SECOND:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra SECOND;
    bra END;
FIRST:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra FIRST;
END:)"),
              HasSubstr("lacks 1 of 65 arrivals and 0 bytes"));
}

// ---- Copies ----

/// Each thread copies a word of `in` and arrives behind its copy.
std::string tracked_copies(int count, const std::string& arrival) {
  return kernel_text(".param .u64 in, .param .u64 out", std::string(kRegisters) + R"(
    .shared .align 8 .b64 bar;
    .shared .align 4 .b8 row[256];
    ld.param.u64 %rd2, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    mad.wide.u32 %rd2, %r1, 4, %rd2;
    mov.u64 %rd3, row;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], )" + std::to_string(count) +
                                                            R"(;
    bar.sync 0;
    cp.async.ca.shared.global [%rd4], [%rd2], 4;
    )" + arrival + R"(
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    xor.b32 %r4, %r1, 63;
    mad.wide.u32 %rd7, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd7];
    st.global.u32 [%rd1], %r2;
    ret;)");
}
std::vector<std::uint32_t> run_tracked(const std::string& kernel, const GpuOptions& options) {
  KernelRunner runner(options);
  const std::uint64_t in = runner.array(table(64, [](auto i) { return i + 1000; }));
  const std::uint64_t out = runner.allocate(256).address;
  runner.run(kernel, {.block = {64, 1, 1}}, in, out);
  return runner.read<std::uint32_t>(out, 64);
}

TEST(MBarrierInstructions, ACopyArrivesWhenItIsComplete) {
  for (const std::string& kernel :
       {tracked_copies(64, "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];"),
        tracked_copies(64,
                       "cp.async.mbarrier.arrive.shared::cta.b64 [bar];\n"
                       "mbarrier.arrive.shared.b64 %rd6, [bar];")})
    for_each_schedule([&](const GpuOptions& options) {
      EXPECT_EQ(run_tracked(kernel, options), table(64, [](auto i) { return (i ^ 63) + 1000; }));
    });
}

TEST(MBarrierInstructions, AnOrdinaryArrivalDoesNotAwaitCopies) {
  const std::string kernel = tracked_copies(64, "mbarrier.arrive.shared.b64 %rd6, [bar];");
  EXPECT_THAT(violation_under_all([&](const GpuOptions& options) { run_tracked(kernel, options); }),
              HasSubstr("an asynchronous copy of block 0, thread 63, line 26"));
}

// ---- Clusters ----

/// Each block stores a word, and arrives at the mbarrier of block 0, which sums the words up.
std::string remote_kernel(const std::string& init_order) {
  return lane_kernel(R"(
    .shared .align 8 .b64 bar;
    .shared .align 4 .b32 word;
    mov.u32 %r2, 0;
    mov.u32 %r3, %cluster_ctarank;
    mov.u32 %r4, %cluster_nctarank;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 mbarrier.init.shared.b64 [bar], %r4;
    )" + init_order + R"(
    add.u32 %r5, %r3, 100;
    st.shared.u32 [word], %r5;
    mov.u64 %rd5, bar;
    cvt.u32.u64 %r6, %rd5;
    mapa.shared::cluster.u32 %r7, %r6, 0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
    @!%p1 bra END;
WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    mov.u32 %r8, 0;
    mov.u64 %rd6, word;
SUM:
    mapa.shared::cluster.u64 %rd7, %rd6, %r8;
    ld.shared::cluster.u32 %r9, [%rd7];
    add.u32 %r2, %r2, %r9;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p3, %r8, %r4;
    @%p3 bra SUM;
END:
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;)");
}
constexpr Launch kCluster = {.grid = {4, 1, 1}, .block = {1, 1, 1}, .cluster = {4, 1, 1}};

TEST(MBarrierInstructions, BlocksOfAClusterArriveRemotely) {
  for (const char* order : {"barrier.cluster.arrive.release; barrier.cluster.wait.acquire;",
                            "fence.mbarrier_init.release.cluster;\n"
                            "barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;"})
    for_each_schedule([&](const GpuOptions& options) {
      EXPECT_EQ(run_lanes(remote_kernel(order), kCluster, options),
                (std::vector<std::uint32_t>{406, 0, 0, 0}));
    });
}

TEST(MBarrierInstructions, ARemoteArrivalNeedsTheInitialisationBeforeIt) {
  const std::string order = "barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;";
  EXPECT_THAT(violation_of([&] { run_lanes(remote_kernel(order), kCluster); }),
              HasSubstr("the use of the mbarrier at shared address 0x400 is not ordered after its "
                        "initialisation by block 0, thread 0, line 26"));
}

TEST(MBarrierInstructions, ARelaxedArrivalOrdersNothing) {
  std::string kernel =
      remote_kernel("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;");
  kernel.replace(kernel.find("arrive.release.cluster.shared::cluster"), 14, "arrive.relaxed");
  EXPECT_THAT(violation_of([&] { run_lanes(kernel, kCluster); }),
              HasSubstr("race on shared address 0x408: nothing orders it after the write of kernel "
                        "kernel, block 1, thread 0"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::mbarrier_instructions_test
