// Barriers of blocks, clusters and grids, and launches that begin early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::synchronization_instructions_test {
namespace {

using ::testing::Each;

// ---- Blocks ----

TEST(Synchronization, ABlockBarrierHandsSharedMemoryOver) {
  const std::string kernel = lane_kernel(R"(
    .shared .align 4 .b8 row[384];
    mov.u64 %rd3, row;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    add.u32 %r3, %r1, 100;
    st.shared.u32 [%rd4], %r3;
    bar.sync 0;
    mov.u32 %r4, 95;
    sub.u32 %r4, %r4, %r1;
    mad.wide.u32 %rd4, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd4];)");
  EXPECT_EQ(run_lanes(kernel, {.block = {96, 1, 1}}), table(96, [](auto i) { return 195 - i; }));
}

TEST(Synchronization, WarpsMayMeetAtDifferentInstructions) {
  const std::string kernel = lane_kernel(R"(
    .shared .align 4 .b32 value;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra SECOND;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 st.shared.u32 [value], 5;
    barrier.sync 3;
    mov.u32 %r2, 1;
    bra END;
SECOND:
    barrier.cta.sync.aligned 3;
    ld.shared.u32 %r2, [value];
END:)");
  EXPECT_EQ(run_lanes(kernel, {.block = {64, 1, 1}}),
            table(64, [](auto i) { return i < 32 ? 1u : 5u; }));
}

/// `popc`, plus 100 if all predicates are true, plus 200 if any is.
std::vector<std::uint32_t> reduced(const std::string& condition, std::uint32_t threads) {
  return run_lanes(lane_kernel(condition + R"(
    bar.red.popc.u32 %r2, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    barrier.cta.red.or.pred.aligned %p3, 1, %p1;
    bar.cta.red.popc.u32 %r3, 0, !%p1;
    @%p2 add.u32 %r2, %r2, 100;
    @%p3 add.u32 %r2, %r2, 200;
    mad.lo.u32 %r2, %r3, 1000, %r2;)"),
                   {.block = {threads, 1, 1}});
}

TEST(Synchronization, ReductionsCountTheThreadsOfPartialWarps) {
  EXPECT_THAT(reduced("setp.lt.u32 %p1, %r1, 50;", 50), Each(350));
  EXPECT_THAT(reduced("setp.lt.u32 %p1, %r1, 49;", 50), Each(1249));
  EXPECT_THAT(reduced("setp.gt.u32 %p1, %r1, 99;", 50), Each(50000));
}

TEST(Synchronization, ThreadsThatExitedAreNotAwaited) {
  // Warp 0 exits at once. Of warp 1, only four lanes remain. Warp 2 has 8 threads.
  const std::string kernel = lane_kernel(R"(
    mov.u32 %r2, 0;
    st.global.u32 [%rd1], %r2;
    setp.lt.u32 %p1, %r1, 60;
    @%p1 exit;
    bar.sync 0;
    setp.ne.u32 %p2, %r1, 9999;
    bar.red.popc.u32 %r2, 0, %p2;)");
  EXPECT_EQ(run_lanes(kernel, {.block = {72, 1, 1}}),
            table(72, [](auto i) { return i < 60 ? 0u : 12u; }));
}

TEST(Synchronization, TheExitOfTheLastWarpCompletesABarrier) {
  // The other warp waits at the barrier already, since the last one has a long loop before its
  // exit.
  const std::string kernel = lane_kernel(R"(
    mov.u32 %r2, 0;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra MEET;
    mov.u32 %r3, 0;
LOOP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 5000;
    @%p2 bra LOOP;
    st.global.u32 [%rd1], %r3;
    ret;
MEET:
    bar.sync 0;
    mov.u32 %r2, 7;)");
  EXPECT_EQ(run_lanes(kernel, {.block = {64, 1, 1}}),
            table(64, [](auto i) { return i < 32 ? 7u : 5000u; }));
}

// ---- Clusters ----

TEST(Synchronization, ABlockReadsSharedMemoryOfItsCluster) {
  const std::string kernel = lane_kernel(R"(
    .shared .align 4 .b32 value;
    mov.u32 %r3, %cluster_ctarank;
    mov.u32 %r4, %cluster_nctarank;
    mov.u32 %r5, %ctaid.x;
    mov.u64 %rd3, value;
    st.shared.u32 [value], %r5;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    add.u32 %r6, %r3, 1;
    rem.u32 %r6, %r6, %r4;
    cvta.shared.u64 %rd4, %rd3;
    mapa.u64 %rd5, %rd4, %r6;
    ld.u32 %r2, [%rd5];
    ld.shared::cluster.u32 %r7, [%rd5];
    sub.u32 %r7, %r7, %r2;
    mad.lo.u32 %r2, %r7, 1000, %r2;
    barrier.cluster.arrive;
    barrier.cluster.wait;)");
  EXPECT_THAT(run_lanes(kernel, {.grid = {8, 1, 1}, .block = {1, 1, 1}, .cluster = {4, 1, 1}}),
              ::testing::ElementsAre(1, 2, 3, 0, 5, 6, 7, 4));
}

TEST(Synchronization, ARelaxedArrivalLetsTheThreadWorkBeforeTheWait) {
  const std::string kernel = lane_kernel(R"(
    barrier.cluster.arrive.relaxed.aligned;
    mul.lo.u32 %r2, %r1, 3;
    barrier.cluster.wait.acquire.aligned;
    barrier.cluster.arrive.relaxed;
    add.u32 %r2, %r2, 1;
    barrier.cluster.wait;)");
  EXPECT_EQ(run_lanes(kernel, {.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}}),
            table(128, [](auto i) { return i % 64 * 3 + 1; }));
}

TEST(Synchronization, AClusterBarrierDoesNotAwaitWarpsThatExited) {
  for (const std::uint32_t size : {1U, 2U}) {
    const std::string kernel = lane_kernel(R"(
    mov.u32 %r2, 3;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra LATE;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %r2, 4;
    bra END;
LATE:
    mov.u32 %r3, 0;
LOOP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 5000;
    @%p2 bra LOOP;
END:)");
    EXPECT_EQ(run_lanes(kernel, {.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {size, 1, 1}}),
              table(128, [](auto i) { return i % 64 < 32 ? 4u : 3u; }))
        << "clusters of " << size;
  }
}

TEST(Synchronization, SpecialRegistersGiveThePlaceInTheCluster) {
  const std::string kernel = kernel_text(".param .u64 out", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ctaid.y;
    mov.u32 %r3, %nctaid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mad.wide.u32 %rd1, %r4, 4, %rd1;
    mov.u32 %r5, %cluster_ctaid.x;
    mov.u32 %r6, %cluster_ctaid.y;
    mov.u32 %r7, %clusterid.x;
    mov.u32 %r8, %clusterid.y;
    mov.u32 %r9, %cluster_ctarank;
    mov.u32 %r10, %nclusterid.x;
    mov.u32 %r11, %cluster_nctaid.y;
    mad.lo.u32 %r12, %r5, 10, %r6;
    mad.lo.u32 %r12, %r12, 10, %r7;
    mad.lo.u32 %r12, %r12, 10, %r8;
    mad.lo.u32 %r12, %r12, 10, %r9;
    mad.lo.u32 %r12, %r12, 10, %r10;
    mad.lo.u32 %r12, %r12, 10, %r11;
    st.global.u32 [%rd1], %r12;
    ret;)");
  // Of 4 x 2 blocks, in clusters of 2 x 2: x, y in the cluster, x, y of the cluster, rank, counts.
  EXPECT_THAT(
      run_lanes(kernel, {.grid = {4, 2, 1}, .block = {1, 1, 1}, .cluster = {2, 2, 1}}),
      ::testing::ElementsAre(22, 1000122, 10022, 1010122, 100222, 1100322, 110222, 1110322));
}

// ---- Grids and launches ----

TEST(Synchronization, ACooperativeGridMeetsByAnAtomicAndASpin) {
  const std::string kernel =
      kernel_text(".param .u64 out, .param .u64 arrivals", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [arrivals];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    mad.wide.u32 %rd3, %r1, 4, %rd1;
    add.u32 %r3, %r1, 50;
    st.global.u32 [%rd3], %r3;
    fence.acq_rel.gpu;
    atom.global.add.u32 %r4, [%rd2], 1;
SPIN:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.lt.u32 %p1, %r5, %r2;
    @%p1 bra SPIN;
    fence.acq_rel.gpu;
    add.u32 %r6, %r1, 1;
    rem.u32 %r6, %r6, %r2;
    mad.wide.u32 %rd4, %r6, 4, %rd1;
    ld.global.u32 %r7, [%rd4];
    add.u32 %r8, %r1, %r2;
    mad.wide.u32 %rd5, %r8, 4, %rd1;
    st.global.u32 [%rd5], %r7;
    ret;)");
  KernelRunner runner;
  const std::uint64_t out = runner.allocate(16 * 4).address;
  const std::uint64_t arrivals = runner.array<std::uint32_t>({0});
  runner.run(kernel, {.grid = {8, 1, 1}, .block = {1, 1, 1}, .is_cooperative = true}, out,
             arrivals);
  EXPECT_EQ(runner.read<std::uint32_t>(out, 16),
            table(16, [](auto i) { return i < 8 ? 50 + i : 50 + (i + 1) % 8; }));
}

/// Writes 10 + thread to `data`; the grid lets its dependents start first.
const std::string kFirst = kernel_text(".param .u64 data", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    griddepcontrol.launch_dependents;
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    add.u32 %r2, %r1, 10;
    st.global.u32 [%rd1], %r2;
    ret;)");
/// Doubles the data behind `griddepcontrol.wait`.
const std::string kSecond = kernel_text(".param .u64 data", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    griddepcontrol.wait;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, %r2;
    st.global.u32 [%rd1], %r2;
    ret;)");

TEST(Synchronization, AnEarlyLaunchWaitsForTheLaunchBeforeIt) {
  for (const Schedule schedule : {Schedule::fair, Schedule::random, Schedule::adversarial}) {
    KernelRunner runner({.schedule = schedule, .seed = 3});
    const std::uint64_t data = runner.allocate(64 * 4).address;
    const std::uint32_t first = runner.start(kFirst, {.block = {64, 1, 1}}, data);
    EXPECT_FALSE(runner.gpu().lets_dependents_start(first));
    const std::uint32_t second =
        runner.start(kSecond, {.block = {64, 1, 1}, .starts_early = true}, data);
    runner.finish();
    EXPECT_TRUE(runner.gpu().is_done(first));
    EXPECT_TRUE(runner.gpu().is_done(second));
    EXPECT_TRUE(runner.gpu().lets_dependents_start(first));
    EXPECT_EQ(runner.read<std::uint32_t>(data, 64), table(64, [](auto i) { return 2 * (10 + i); }));
  }
}

TEST(Synchronization, AWaitWithoutAnEarlyStartReturnsAtOnce) {
  KernelRunner runner;
  const std::uint64_t data = runner.array(std::vector<std::uint32_t>(64, 4));
  runner.run(kSecond, {.block = {64, 1, 1}}, data);
  EXPECT_THAT(runner.read<std::uint32_t>(data, 64), Each(8));
}

TEST(Synchronization, LaunchesInOrderNeedNoSynchronisation) {
  KernelRunner runner;
  const std::uint64_t data = runner.array(std::vector<std::uint32_t>(64, 1));
  for (int i = 0; i < 3; ++i) runner.run(kSecond, {.block = {64, 1, 1}}, data);
  EXPECT_THAT(runner.read<std::uint32_t>(data, 64), Each(8));
}

}  // namespace
}  // namespace sinter::virtual_gpu::synchronization_instructions_test
