// Messages of the race check, and kernels that are almost the same but have no race.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::race_checks_test {
namespace {

/// Replaces `from`, which must occur.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

/// The violation without the address, which differs from run to run.
std::string without_address(std::string message) {
  const std::size_t at = message.find("address 0x");
  if (at == std::string::npos) return message;
  return message.erase(at + 7, message.find(':', at) - at - 7);
}

// ---- Blocks ----

/// Each thread reads the word of its partner in another half of the block.
std::string exchange(const std::string& barrier) {
  return lane_kernel(R"(
    .shared .align 4 .b8 row[256];
    mov.u64 %rd3, row;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    st.shared.u32 [%rd4], %r1;
    )" + barrier + R"(
    xor.b32 %r4, %r1, 32;
    mad.wide.u32 %rd5, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd5];)");
}

TEST(RaceChecks, TwoThreadsOfABlockNeedABarrier) {
  const Launch launch = {.block = {64, 1, 1}};
  EXPECT_EQ(run_lanes(exchange("bar.sync 0;"), launch), table(64, [](auto i) { return i ^ 32; }));
  // Without the barrier, warp 0 reads bytes that nothing wrote, before warp 1 writes them.
  const GpuOptions options = {.checks_initialization = false};
  EXPECT_EQ(without_address(violation_of([&] { run_lanes(exchange(""), launch, options); })),
            "kernel kernel, block (0, 0, 0), thread (32, 0, 0), line 23 (st.shared.u32 [%rd4], "
            "%r1;): race on shared address: nothing orders it after the read of kernel kernel, "
            "block 0, thread 0, line 27 (ld.shared.u32 %r2, [%rd5];)");
}

TEST(RaceChecks, ThreadsOfAWarpNeedABarrierToo) {
  const std::string kernel = replaced(exchange(""), "%r1, 32;", "%r1, 1;");
  const std::string message = violation_of([&] { run_lanes(kernel, {.block = {64, 1, 1}}); });
  const std::string begin =
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 27 (ld.shared.u32 %r2, [%rd5];): "
      "race "
      "on shared address 0x";
  EXPECT_EQ(message.substr(0, begin.size()), begin);
  EXPECT_EQ(message.substr(message.find(": nothing")),
            ": nothing orders it after the write of kernel kernel, block 0, thread 1, line 23 "
            "(st.shared.u32 [%rd4], %r1;)");
}

TEST(RaceChecks, AWriteBehindAReadNeedsABarrier) {
  // Warp 1 is the last one at the barrier, so it runs first behind it.
  const std::string kernel = exchange("bar.sync 0;");
  const std::string again =
      replaced(kernel, "st.global.u32 [%rd1], %r2;", "st.shared.u32 [%rd4], 5;");
  EXPECT_EQ(
      without_address(violation_of([&] {
        run_lanes(again, {.block = {64, 1, 1}});
      })),
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 27 (ld.shared.u32 %r2, [%rd5];): "
      "race on shared address: nothing orders it after the write of kernel kernel, block 0, "
      "thread 32, line 28 (st.shared.u32 [%rd4], 5;)");
}

TEST(RaceChecks, LanesOfOneStoreMustNotOverlap) {
  const std::string kernel = lane_kernel(
      "\nshr.u32 %r3, %r1, 1; .shared .align 4 .b8 row[128];\n"
      "mov.u64 %rd3, row; mad.wide.u32 %rd3, %r3, 4, %rd3;\n"
      "st.shared.u32 [%rd3], %r1;");
  EXPECT_EQ(without_address(violation_of([&] { run_lanes(kernel); })),
            "kernel kernel, block (0, 0, 0), thread (1, 0, 0), line 22 (st.shared.u32 [%rd3], "
            "%r1;): race on shared address: nothing orders it after the write of kernel kernel, "
            "block 0, thread 0, line 22 (st.shared.u32 [%rd3], %r1;)");
}

TEST(RaceChecks, CanBeSwitchedOff) {
  const std::string kernel = replaced(exchange(""), "%r1, 32;", "%r1, 1;");
  EXPECT_EQ(run_lanes(kernel, {}, {.checks_races = false}),
            table(32, [](auto i) { return i ^ 1; }));
}

// ---- Grids ----

std::string message_of_blocks(const std::string& body, std::uint32_t blocks, std::uint32_t words) {
  KernelRunner runner;
  const std::uint64_t data = runner.array(std::vector<std::uint32_t>(words));
  const std::string kernel =
      kernel_text(".param .u64 data", std::string(kRegisters) +
                                          "ld.param.u64 %rd1, [data]; mov.u32 %r1, %ctaid.x;\n" +
                                          body + "\nret;");
  return without_address(violation_of([&] {
    runner.run(kernel, {.grid = {blocks, 1, 1}, .block = {1, 1, 1}}, data);
  }));
}

TEST(RaceChecks, TwoBlocksMustNotWriteTheSameWord) {
  EXPECT_EQ(message_of_blocks("st.global.u32 [%rd1], %r1;", 2, 1),
            "kernel kernel, block (1, 0, 0), thread (0, 0, 0), line 14 (st.global.u32 [%rd1], "
            "%r1;): race on global address: nothing orders it after the write of kernel kernel, "
            "block 0, thread 0, line 14 (st.global.u32 [%rd1], %r1;)");
  EXPECT_EQ(message_of_blocks("red.global.add.u32 [%rd1], 1;", 2, 1), "none");
  EXPECT_EQ(
      message_of_blocks("red.global.add.u32 [%rd1], 1;\nld.volatile.global.u32 %r2, [%rd1];", 2, 1),
      "none");
}

TEST(RaceChecks, APlainReadRacesWithAnAtomic) {
  EXPECT_EQ(message_of_blocks("red.global.add.u32 [%rd1], 1;\nld.global.u32 %r2, [%rd1];", 2, 1),
            "kernel kernel, block (1, 0, 0), thread (0, 0, 0), line 14 (red.global.add.u32 [%rd1], "
            "1;): race on global address: nothing orders it after the read of kernel kernel, block "
            "0, thread 0, line 15 (ld.global.u32 %r2, [%rd1];)");
}

TEST(RaceChecks, NeighbouringBytesDoNotConflict) {
  EXPECT_EQ(message_of_blocks("cvt.u64.u32 %rd2, %r1; add.u64 %rd1, %rd1, %rd2;\n"
                              "st.global.u8 [%rd1], %r1;",
                              8, 2),
            "none");
}

TEST(RaceChecks, ReadOnlyLoadsNeedMemoryThatTheLaunchNeverWrites) {
  const std::string message =
      message_of_blocks("ld.global.nc.u32 %r2, [%rd1];\nst.global.u32 [%rd1], %r2;", 1, 1);
  EXPECT_EQ(message,
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 15 (st.global.u32 [%rd1], "
            "%r2;): race on global address: nothing orders it after the read of kernel kernel, "
            "block 0, thread 0, line 14 (ld.global.nc.u32 %r2, [%rd1];); ld.global.nc needs memory "
            "that the launch never writes");
  EXPECT_EQ(message_of_blocks("st.global.u32 [%rd1], 1;\nld.global.nc.u32 %r2, [%rd1];", 1, 1),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 15 (ld.global.nc.u32 %r2, "
            "[%rd1];): race on global address: nothing orders it after the write of kernel kernel, "
            "block 0, thread 0, line 14 (st.global.u32 [%rd1], 1;); ld.global.nc needs memory that "
            "the launch never writes");
  EXPECT_EQ(message_of_blocks("ld.global.u32 %r2, [%rd1];\nst.global.u32 [%rd1], %r2;", 1, 1),
            "none");
}

/// Block 0 stores a value and raises a flag for block 1.
const std::string kFlag = R"(
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READER;
    st.global.u32 [%rd1], 5;
    fence.acq_rel.gpu; // writer
    st.volatile.global.u32 [%rd1+4], 1;
    ret;
READER:
    ld.volatile.global.u32 %r2, [%rd1+4];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra READER;
    fence.acq_rel.gpu; // reader
    ld.global.u32 %r3, [%rd1];)";
constexpr const char* kReadTooEarly =
    "kernel kernel, block (1, 0, 0), thread (0, 0, 0), line 26 (ld.global.u32 %r3, [%rd1];): race "
    "on global address: nothing orders it after the write of kernel kernel, block 0, thread 0, "
    "line "
    "17 (st.global.u32 [%rd1], 5;)";

TEST(RaceChecks, AFlagNeedsFencesOnBothSides) {
  EXPECT_EQ(message_of_blocks(kFlag, 2, 2), "none");
  EXPECT_EQ(message_of_blocks(replaced(kFlag, "fence.acq_rel.gpu; // writer", ""), 2, 2),
            kReadTooEarly);
  EXPECT_EQ(message_of_blocks(replaced(kFlag, "fence.acq_rel.gpu; // reader", ""), 2, 2),
            kReadTooEarly);
  EXPECT_EQ(message_of_blocks(replaced(kFlag, "fence.acq_rel.gpu; // writer", "membar.gl;"), 2, 2),
            "none");
}

TEST(RaceChecks, AFlagMustBeVolatile) {
  EXPECT_EQ(
      message_of_blocks(replaced(kFlag, "st.volatile", "st"), 2, 2),
      "kernel kernel, block (1, 0, 0), thread (0, 0, 0), line 22 (ld.volatile.global.u32 %r2, "
      "[%rd1+4];): race on global address: nothing orders it after the write of kernel "
      "kernel, block 0, thread 0, line 19 (st.global.u32 [%rd1+4], 1;)");
  EXPECT_EQ(message_of_blocks(replaced(kFlag, "ld.volatile", "ld"), 2, 2),
            "kernel kernel, block (1, 0, 0), thread (0, 0, 0), line 22 (ld.global.u32 %r2, "
            "[%rd1+4];): race on global address: nothing orders it after the write of kernel "
            "kernel, block 0, thread 0, line 19 (st.volatile.global.u32 [%rd1+4], 1;)");
}

TEST(RaceChecks, AFlagWithReleaseAndAcquireNeedsNoFence) {
  std::string body = replaced(kFlag, "fence.acq_rel.gpu; // writer", "");
  body = replaced(body, "fence.acq_rel.gpu; // reader", "");
  body = replaced(body, "st.volatile.global", "st.release.gpu.global");
  EXPECT_EQ(message_of_blocks(replaced(body, "ld.volatile.global", "ld.acquire.gpu.global"), 2, 2),
            "none");
  EXPECT_EQ(message_of_blocks(replaced(body, "ld.volatile.global", "ld.relaxed.gpu.global"), 2, 2),
            kReadTooEarly);
}

/// Each block stores a part; the last one adds them up. The data has two parts, then the ticket.
const std::string kLastBlock = R"(
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r1;
    fence.acq_rel.gpu; // release
    atom.global.add.u32 %r2, [%rd1+8], 1;
    setp.ne.u32 %p1, %r2, 1;
    @%p1 ret;
    fence.acq_rel.gpu; // acquire
    ld.global.v2.u32 {%r3, %r4}, [%rd1];)";

TEST(RaceChecks, TheLastBlockNeedsBothFences) {
  const std::string expected =
      "kernel kernel, block (1, 0, 0), thread (0, 0, 0), line 22 (ld.global.v2.u32 {%r3, %r4}, "
      "[%rd1];): race on global address: nothing orders it after the write of kernel kernel, block "
      "0, thread 0, line 16 (st.global.u32 [%rd2], %r1;)";
  EXPECT_EQ(message_of_blocks(kLastBlock, 2, 4), "none");
  for (const std::string side : {"release", "acquire"})
    EXPECT_EQ(message_of_blocks(replaced(kLastBlock, "fence.acq_rel.gpu; // " + side, ""), 2, 4),
              expected)
        << side;
}

// ---- Clusters ----

/// Each block of two reads the value of the other one.
std::string cluster_exchange(const std::string& barrier,
                             const std::string& last_arrival = "barrier.cluster.arrive;") {
  return lane_kernel(R"(
    .shared .align 4 .b32 value;
    mov.u64 %rd3, value;
    cvta.shared.u64 %rd3, %rd3;
    mov.u32 %r3, %cluster_ctarank;
    st.shared.u32 [value], %r3;
    )" + barrier + R"(
    xor.b32 %r4, %r3, 1;
    mapa.u64 %rd4, %rd3, %r4;
    ld.u32 %r2, [%rd4];
    )" + last_arrival +
                     R"(
    barrier.cluster.wait;)");
}

TEST(RaceChecks, AClusterExchangeNeedsAReleaseAndAnAcquire) {
  const auto message = [](const std::string& barrier) {
    const Launch launch = {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}};
    const GpuOptions options = {.checks_initialization = false};
    return without_address(
        violation_of([&] { run_lanes(cluster_exchange(barrier), launch, options); }));
  };
  const std::string race =
      "kernel kernel, block (1, 0, 0), thread (0, 0, 0), line 28 (ld.u32 %r2, [%rd4];): race on "
      "shared address: nothing orders it after the write of kernel kernel, block 0, thread 0, line "
      "24 (st.shared.u32 [value], %r3;)";
  EXPECT_EQ(message("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"), "none");
  EXPECT_EQ(message("barrier.cluster.arrive; barrier.cluster.wait;"), "none");
  EXPECT_EQ(message("barrier.cluster.arrive.relaxed; barrier.cluster.wait;"), race);
  EXPECT_EQ(
      message(""),
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 28 (ld.u32 %r2, [%rd4];): block "
      "1 of the cluster may not have started, since no barrier of the cluster precedes the "
      "access");
}

TEST(RaceChecks, ABlockEndsAfterTheReadsOfItsSharedMemory) {
  const Launch launch = {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}};
  const std::string barrier = "barrier.cluster.arrive; barrier.cluster.wait;";
  EXPECT_EQ(violation_of([&] {
              run_lanes(cluster_exchange(barrier, "barrier.cluster.arrive.relaxed;"), launch, {});
            }),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 32 (ret;): the block ends, but "
            "nothing orders its end after the read of its shared address 0x400 by block 1, thread "
            "0, line 28 (ld.u32 %r2, [%rd4];)");
}

// ---- Launches ----

TEST(RaceChecks, AnEarlyLaunchReadsNothingBeforeItsWait) {
  const std::string writer = lane_kernel("\nmov.u32 %r2, 3;");
  const auto reader = [](const std::string& before, const std::string& behind) {
    return lane_kernel(before + "\ngriddepcontrol.wait;" + behind +
                       "\nmov.u32 %r3, %r2; ld.global.u32 %r2, [%rd1];");
  };
  const auto message = [&](const std::string& second) {
    KernelRunner runner;
    const std::uint64_t data = runner.array(std::vector<std::uint32_t>(32));
    runner.start(writer, {}, data);
    return without_address(violation_of([&] { runner.run(second, {.starts_early = true}, data); }));
  };
  EXPECT_EQ(message(reader("", "\nld.global.u32 %r4, [%rd1];")), "none");
  EXPECT_EQ(message(reader("\nld.global.u32 %r4, [%rd1];", "")),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 20 (ld.global.u32 %r4, "
            "[%rd1];): race on global address: nothing orders it after the write of kernel kernel, "
            "block 0, thread 0, line 21");
}

TEST(RaceChecks, RacesAreFoundUnderEverySchedule) {
  const std::string kernel = kernel_text(".param .u64 data", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %ctaid.x;)" + replaced(kFlag, "fence.acq_rel.gpu; // reader", "") +
                                                                 "\nret;");
  for (const Schedule schedule : {Schedule::fair, Schedule::random, Schedule::adversarial})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      KernelRunner runner({.schedule = schedule, .seed = seed});
      const std::uint64_t data = runner.array(std::vector<std::uint32_t>(2));
      EXPECT_NE(violation_of([&] {
                  runner.run(kernel, {.grid = {2, 1, 1}, .block = {1, 1, 1}}, data);
                }).find("race on global address"),
                std::string::npos);
    }
}

}  // namespace
}  // namespace sinter::virtual_gpu::race_checks_test
