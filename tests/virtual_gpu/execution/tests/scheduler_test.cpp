// Kernels whose blocks work together give the same results under every schedule. The kernels are
// models of the prelude's functions in codegen/device/cuda_blocks.cuh and scan.cuh.
#include "tests/virtual_gpu/execution/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::scheduler_test {
namespace {

/// Runs with the fair schedule, and with 20 seeds of the others. `run` gets the options.
void for_each_schedule(const std::function<void(const GpuOptions&)>& run) {
  run({});
  for (const Schedule schedule : {Schedule::random, Schedule::adversarial})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << (schedule == Schedule::random ? "random" : "adversarial")
                                      << ", seed " << seed);
      run({.schedule = schedule, .seed = seed});
    }
}

// ---- last_block ----

const std::string kLastBlock = kernel_text(
    ".param .u64 out, .param .u64 partial, .param .u64 ticket", std::string(kRegisters) + R"(
    .shared .align 4 .b32 sum;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [partial];
    ld.param.u64 %rd3, [ticket];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    mov.u32 %r4, %ntid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.shared.u32 [sum], 0;
    bar.sync 0;
    mad.lo.u32 %r5, %r2, %r4, %r1;
    red.shared.add.u32 [sum], %r5;
    bar.sync 0;
    @!%p1 bra STORED;
    ld.shared.u32 %r6, [sum];
    mad.wide.u32 %rd4, %r2, 4, %rd2;
    st.global.cg.u32 [%rd4], %r6;
STORED:
    bar.sync 0;
    mov.u32 %r7, 0;
    @!%p1 bra TAKEN;
    fence.acq_rel.gpu;
    atom.global.add.u32 %r8, [%rd3], 1;
    add.u32 %r8, %r8, 1;
    setp.ne.u32 %p2, %r8, %r3;
    @%p2 bra TAKEN;
    fence.acq_rel.gpu;
    st.volatile.global.u32 [%rd3], 0;
    mov.u32 %r7, 1;
TAKEN:
    setp.ne.u32 %p3, %r7, 0;
    bar.red.or.pred %p4, 0, %p3;
    @!%p4 ret;
    @%p1 st.shared.u32 [sum], 0;
    bar.sync 0;
    setp.ge.u32 %p5, %r1, %r3;
    @%p5 bra ADDED;
    mad.wide.u32 %rd5, %r1, 4, %rd2;
    ld.global.cg.u32 %r9, [%rd5];
    red.shared.add.u32 [sum], %r9;
ADDED:
    bar.sync 0;
    ld.shared.u32 %r10, [sum];
    @%p1 st.global.u32 [%rd1], %r10;
    ret;)");

TEST(Scheduler, TheLastBlockSeesThePartsOfAllOthers) {
  for_each_schedule([](const GpuOptions& options) {
    KernelRunner runner(options, {.sm_count = 2, .blocks_per_sm = 5});
    const std::uint64_t out = runner.allocate(4).address;
    const std::uint64_t partial = runner.allocate(24 * 4).address;
    const std::uint64_t ticket = runner.array<std::uint32_t>({0});
    for (int launch = 0; launch < 2; ++launch) {
      runner.run(kLastBlock, {.grid = {24, 1, 1}, .block = {72, 1, 1}}, out, partial, ticket);
      EXPECT_EQ(runner.read<std::uint32_t>(out, 1)[0], 24U * 72 * (24 * 72 - 1) / 2);
      EXPECT_EQ(runner.read<std::uint32_t>(ticket, 1)[0], 0U);
    }
  });
}

// ---- Decoupled look-back ----

/// The sum of the inputs up to that of each tile. Each block has one tile, and `flags` begins with
/// the number of the next one.
const std::string kLookBack = kernel_text(
    ".param .u64 in, .param .u64 out, .param .u64 flags, .param .u64 totals, .param .u64 prefixes",
    std::string(kRegisters) + R"(
    .shared .align 4 .b32 taken;
    .shared .align 4 .b8 row[128];
    .shared .align 4 .b8 known[128];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u64 %rd3, [flags];
    ld.param.u64 %rd4, [totals];
    ld.param.u64 %rd5, [prefixes];
    mov.u64 %rd20, row;
    mov.u64 %rd21, known;
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    @!%p1 bra NUMBERED;
    atom.global.add.u32 %r3, [%rd3], 1;
    st.shared.u32 [taken], %r3;
NUMBERED:
    bar.sync 0;
    ld.shared.u32 %r4, [taken];
    bar.sync 0;
    mul.wide.u32 %rd6, %r4, 4;
    add.u64 %rd1, %rd1, %rd6;
    add.u64 %rd2, %rd2, %rd6;
    add.u64 %rd7, %rd3, %rd6;
    add.u64 %rd8, %rd4, %rd6;
    add.u64 %rd9, %rd5, %rd6;
    ld.global.nc.u32 %r5, [%rd1];
    mov.u32 %r6, 0;
    setp.ne.u32 %p2, %r4, 0;
    @%p2 bra LATER;
    @%p1 st.global.cg.u32 [%rd9], %r5;
    bar.sync 0;
    @!%p1 bra DONE;
    fence.acq_rel.gpu;
    st.volatile.global.u32 [%rd7+4], 2;
    bra DONE;
LATER:
    @%p1 st.global.cg.u32 [%rd8], %r5;
    bar.sync 0;
    @!%p1 bra PUBLISHED;
    fence.acq_rel.gpu;
    st.volatile.global.u32 [%rd7+4], 1;
PUBLISHED:
    sub.s32 %r7, %r4, 1;
    sub.s32 %r7, %r7, %r1;
    setp.lt.s32 %p3, %r7, 0;
    @%p3 bra LOADED;
    setp.eq.u32 %p4, %r1, 31;
    selp.u32 %r8, 2, 1, %p4;
    mul.wide.s32 %rd10, %r7, 4;
    add.u64 %rd11, %rd3, %rd10;
SPIN:
    ld.volatile.global.u32 %r9, [%rd11+4];
    setp.lt.u32 %p5, %r9, %r8;
    @%p5 bra SPIN;
    fence.acq_rel.gpu;
    setp.eq.u32 %p6, %r9, 2;
    selp.b64 %rd12, %rd5, %rd4, %p6;
    add.u64 %rd12, %rd12, %rd10;
    ld.global.cg.u32 %r10, [%rd12];
    mul.wide.u32 %rd13, %r1, 4;
    add.u64 %rd14, %rd20, %rd13;
    add.u64 %rd15, %rd21, %rd13;
    st.shared.u32 [%rd14], %r10;
    st.shared.u32 [%rd15], %r9;
LOADED:
    bar.sync 0;
    @!%p1 bra JOINED;
    mov.u64 %rd16, 0;
SEARCH:
    add.u64 %rd17, %rd21, %rd16;
    ld.shared.u32 %r11, [%rd17];
    add.u64 %rd18, %rd20, %rd16;
    ld.shared.u32 %r12, [%rd18];
    add.u32 %r6, %r6, %r12;
    add.u64 %rd16, %rd16, 4;
    setp.ne.u32 %p7, %r11, 2;
    @%p7 bra SEARCH;
    add.u32 %r13, %r6, %r5;
    st.global.cg.u32 [%rd9], %r13;
JOINED:
    bar.sync 0;
    @!%p1 bra DONE;
    fence.acq_rel.gpu;
    st.volatile.global.u32 [%rd7+4], 2;
DONE:
    bar.sync 0;
    add.u32 %r14, %r6, %r5;
    @%p1 st.global.u32 [%rd2], %r14;
    ret;)");

TEST(Scheduler, TilesFindThePrefixesOfEarlierTiles) {
  constexpr std::uint32_t kTiles = 50;
  for_each_schedule([](const GpuOptions& options) {
    KernelRunner runner(options, {.sm_count = 2, .blocks_per_sm = 3});
    const std::uint64_t in = runner.array(table(kTiles, [](auto i) { return i * i + 1; }));
    const std::uint64_t out = runner.allocate(kTiles * 4).address;
    const std::uint64_t flags = runner.array(std::vector<std::uint32_t>(kTiles + 1));
    const std::uint64_t totals = runner.allocate(kTiles * 4).address;
    const std::uint64_t prefixes = runner.allocate(kTiles * 4).address;
    runner.run(kLookBack, {.grid = {kTiles, 1, 1}, .block = {32, 1, 1}}, in, out, flags, totals,
               prefixes);
    EXPECT_EQ(runner.read<std::uint32_t>(out, kTiles),
              table(kTiles, [](auto i) { return i * (i + 1) * (2 * i + 1) / 6 + i + 1; }));
  });
}

// ---- Grid barrier ----

/// In each of 4 rounds a block adds the value of its neighbour. Two arrays take turns.
const std::string kGridBarrier = R"(.version 9.0
.target sm_90
.address_size 64
.func grid_barrier(.param .b64 counter)
{
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [counter];
    bar.sync 0;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    sub.u32 %r4, 0x80000001, %r3;
    setp.eq.u32 %p2, %r2, 0;
    selp.b32 %r5, %r4, 1, %p2;
    fence.acq_rel.gpu;
    atom.global.add.u32 %r6, [%rd1], %r5;
SPIN:
    ld.volatile.global.u32 %r7, [%rd1];
    xor.b32 %r8, %r6, %r7;
    setp.gt.s32 %p3, %r8, -1;
    @%p3 bra SPIN;
    fence.acq_rel.gpu;
DONE:
    bar.sync 0;
    ret;
}
.visible .entry kernel(.param .u64 data, .param .u64 counter)
{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [counter];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    mov.u32 %r4, %ntid.x;
    mul.lo.u32 %r5, %r3, %r4;
    mul.wide.u32 %rd3, %r5, 4;
    mad.lo.u32 %r6, %r2, %r4, %r1;
    add.u32 %r7, %r6, %r4;
    rem.u32 %r7, %r7, %r5;
    add.u64 %rd4, %rd1, %rd3;
    mul.wide.u32 %rd5, %r6, 4;
    mul.wide.u32 %rd6, %r7, 4;
    mov.u32 %r8, 0;
LOOP:
    add.u64 %rd7, %rd1, %rd5;
    add.u64 %rd8, %rd1, %rd6;
    add.u64 %rd9, %rd4, %rd5;
    ld.global.u32 %r9, [%rd7];
    ld.global.u32 %r10, [%rd8];
    add.u32 %r9, %r9, %r10;
    st.global.u32 [%rd9], %r9;
    mov.u64 %rd10, %rd1;
    mov.u64 %rd1, %rd4;
    mov.u64 %rd4, %rd10;
    {
    .param .b64 counter_of_call;
    st.param.b64 [counter_of_call], %rd2;
    call.uni grid_barrier, (counter_of_call);
    }
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p1, %r8, 4;
    @%p1 bra LOOP;
    ret;
}
)";

TEST(Scheduler, BlocksOfACooperativeGridMeet) {
  for_each_schedule([](const GpuOptions& options) {
    KernelRunner runner(options);
    std::vector<std::uint32_t> data = table(6 * 40, [](auto i) { return i / 40 == 0 ? 1U : 0U; });
    data.resize(2 * data.size());
    const std::uint64_t address = runner.array(data);
    const std::uint64_t counter = runner.array<std::uint32_t>({0});
    runner.run(kGridBarrier, {.grid = {6, 1, 1}, .block = {40, 1, 1}, .is_cooperative = true},
               address, counter);
    // After four rounds block b has the binomial coefficient of 4 over the distance to block 0.
    const std::uint32_t expected[] = {1, 0, 1, 4, 6, 4};
    EXPECT_EQ(runner.read<std::uint32_t>(address, 240),
              table(240, [&](auto i) { return expected[i / 40]; }));
    EXPECT_EQ(runner.read<std::uint32_t>(counter, 1)[0], 0U);
  });
}

// ---- Clusters ----

const std::string kClusterSum = lane_kernel(R"(
    .shared .align 4 .b8 row[256];
    mov.u64 %rd3, row;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    cvta.shared.u64 %rd5, %rd4;
    mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r2, %r3, 1000, %r1;
    mov.u32 %r10, 0;
ROUND:
    st.shared.u32 [%rd4], %r2;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    mov.u32 %r2, 0;
    mov.u32 %r4, 0;
LOOP:
    mapa.u64 %rd6, %rd5, %r4;
    ld.u32 %r5, [%rd6];
    add.u32 %r2, %r2, %r5;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 4;
    @%p1 bra LOOP;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p2, %r10, 3;
    @%p2 bra ROUND;)");

TEST(Scheduler, BlocksOfAClusterExchangeValues) {
  for_each_schedule([](const GpuOptions& options) {
    EXPECT_EQ(run_lanes(kClusterSum,
                        {.grid = {12, 1, 1}, .block = {64, 1, 1}, .cluster = {4, 1, 1}}, options),
              table(12 * 64, [](auto i) {
                const std::uint32_t first = i / 256 * 4;  // the first block of the cluster
                return 16 * (1000 * (4 * first + 6) + 4 * (i % 64));
              }));
  });
}

// ---- Spins ----

TEST(Scheduler, AFlagThatWasJustWrittenIsNoDeadlock) {
  // Block 0 spins for long. Then block 1 sets the flag and ends, so that at the end of the turn
  // block 0 alone is left. Some of the counts of barriers let a search for deadlocks follow.
  const std::string kernel =
      kernel_text(".param .u64 flag, .param .u32 barriers", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [flag];
    ld.param.u32 %r1, [barriers];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    setp.eq.u32 %p1, %r2, 1;
    @%p1 bra SETTER;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 ret;
SPIN:
    ld.volatile.global.u32 %r4, [%rd1];
    setp.eq.u32 %p3, %r4, 0;
    @%p3 bra SPIN;
    ret;
SETTER:
    bar.sync 0;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p4, %r1, 0;
    @%p4 bra SETTER;
    setp.eq.u32 %p5, %r3, 0;
    @%p5 st.volatile.global.u32 [%rd1], 1;
    ret;)");
  for (std::uint32_t barriers = 2100; barriers < 2230; ++barriers) {
    KernelRunner runner;
    const std::uint64_t flag = runner.array<std::uint32_t>({0});
    EXPECT_EQ(violation_of([&] {
                runner.run(kernel, {.grid = {2, 1, 1}, .block = {33, 1, 1}}, flag, barriers);
              }),
              "none");
  }
}

// ---- Order ----

TEST(Scheduler, AdversarialSchedulesStartTheLastBlocksFirstOrLate) {
  const GpuOptions even = {.schedule = Schedule::adversarial, .seed = 2};
  const GpuOptions odd = {.schedule = Schedule::adversarial, .seed = 3};
  EXPECT_EQ(Scheduler(even).cluster_order(3), (std::vector<std::uint32_t>{2, 1, 0}));
  EXPECT_EQ(Scheduler(odd).cluster_order(3), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Scheduler, ASeedDeterminesARandomOrder) {
  const GpuOptions options = {.schedule = Schedule::random, .seed = 5};
  const GpuOptions other = {.schedule = Schedule::random, .seed = 6};
  const auto order = Scheduler(options).cluster_order(100);
  EXPECT_EQ(order, Scheduler(options).cluster_order(100));
  EXPECT_NE(order, Scheduler(other).cluster_order(100));
  auto sorted = order;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, table(100, [](auto i) { return i; }));
}

}  // namespace
}  // namespace sinter::virtual_gpu::scheduler_test
