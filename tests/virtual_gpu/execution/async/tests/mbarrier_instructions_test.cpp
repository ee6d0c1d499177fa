// mbarrier instructions: phases, order, remote arrivals, and the rules that the checks enforce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/async/tests/async_runner.h"

namespace sinter::virtual_gpu::mbarrier_instructions_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// A kernel with the mbarrier `bar` for `count` arrivals, and 64 words `row` with the thread's word
/// at %rd4. Thread 0 initialises the mbarrier.
std::string barrier_kernel(int count, const std::string& body) {
  return lane_kernel(R"(
    .shared .align 8 .b64 bar;
    .shared .align 8 .b64 other;
    .shared .align 4 .b8 row[256];
    mov.u64 %rd3, row;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    mov.u64 %rd5, bar;
    mov.u32 %r2, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], )" +
                     std::to_string(count) + ";\nbar.sync 0;\n" + body);
}

void expect_results(int count, const std::string& body,
                    const std::function<std::uint32_t(std::uint32_t)>& f,
                    std::uint32_t threads = 64) {
  for_each_schedule([&](const GpuOptions& options) {
    EXPECT_EQ(run_lanes(barrier_kernel(count, body), {.block = {threads, 1, 1}}, options),
              table(threads, f));
  });
}
std::string violation(int count, const std::string& body, std::uint32_t threads = 64) {
  return violation_under_all([&](const GpuOptions& options) {
    run_lanes(barrier_kernel(count, body), {.block = {threads, 1, 1}}, options);
  });
}
/// The violation of one thread, without what precedes the problem.
std::string problem(int count, const std::string& body) {
  const std::string message = violation(count, body, 1);
  const std::size_t at = message.find(";): ");
  return at == std::string::npos ? message : message.substr(at + 4);
}

constexpr const char* kWaitForState = R"(
WAIT:
    mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;
    @!%p2 bra WAIT;)";

// ---- Phases ----

TEST(MBarrierInstructions, AnArrivalReleasesAndAWaitAcquires) {
  expect_results(64,
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
  expect_results(64, R"(
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
  expect_results(1, R"(
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1, 1000;
    mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;
    selp.u32 %r2, 1, 0, %p2;
    selp.u32 %r3, 10, 0, %p3;
    add.u32 %r2, %r2, %r3;)",
                 [](auto) { return 1; });
}

TEST(MBarrierInstructions, ACountArrivesForSeveralThreads) {
  expect_results(64, R"(
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
  expect_results(64,
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
  expect_results(
      9, R"(
    mbarrier.arrive.noComplete.shared.b64 %rd6, [bar], 2;
    mbarrier.arrive.noComplete.release.cta.shared.b64 %rd7, [bar], 3;
    mbarrier.pending_count.b64 %r3, %rd6;
    mbarrier.pending_count.b64 %r4, %rd7;
    mad.lo.u32 %r2, %r3, 100, %r4;)",
      [](auto) { return 907; }, 1);
}

TEST(MBarrierInstructions, TransactionsKeepAPhaseOpen) {
  expect_results(
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
  expect_results(
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
  expect_results(
      1, R"(
    mbarrier.inval.shared.b64 [bar];
    st.shared.u64 [bar], 5;
    ld.shared.u32 %r2, [bar];)",
      [](auto) { return 5; }, 1);
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
              HasSubstr("an asynchronous copy of block 0, thread 63, line 23"));
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
                        "initialisation by block 0, thread 0, line 23"));
}

TEST(MBarrierInstructions, ARelaxedArrivalOrdersNothing) {
  std::string kernel =
      remote_kernel("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;");
  kernel.replace(kernel.find("arrive.release.cluster.shared::cluster"), 14, "arrive.relaxed");
  EXPECT_THAT(violation_of([&] { run_lanes(kernel, kCluster); }),
              HasSubstr("race on shared address 0x408: nothing orders it after the write of kernel "
                        "kernel, block 1, thread 0"));
}

// ---- Rules ----

TEST(MBarrierInstructions, AnArrivalOrdersNothingBehindIt) {
  EXPECT_THAT(violation(64, R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];
    st.shared.u32 [%rd4], %r1;)" +
                                std::string(kWaitForState) +
                                R"(
    xor.b32 %r4, %r1, 63;
    mad.wide.u32 %rd7, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd7];)"),
              HasSubstr("race on shared address"));
}

TEST(MBarrierInstructions, AWaitLearnsNothingOfTheNextPhase) {
  // Thread 1 writes behind phase 0 and arrives at phase 1, for which thread 0 does not wait.
  const std::string body = R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];)" +
                           std::string(kWaitForState) + R"(
    setp.ge.u32 %p4, %r1, 32;
    @%p4 st.shared.u32 [row], %r1;
    @%p4 mbarrier.arrive.shared.b64 %rd7, [bar];
    @%p4 bra END;
    mov.u32 %r5, 0;
LATE:
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p5, %r5, 5000;
    @%p5 bra LATE;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
    ld.shared.u32 %r2, [row];
END:)";
  std::string kernel = barrier_kernel(64, body);
  kernel.replace(kernel.find("%r1, 32;"), 8, "%r1, 63;");  // one writer
  EXPECT_THAT(violation_of([&] {
                run_lanes(kernel, {.block = {64, 1, 1}}, {.checks_initialization = false});
              }),
              HasSubstr("race on shared address"));
}

TEST(MBarrierInstructions, TheObjectMustBeInitialized) {
  EXPECT_EQ(problem(1, "mbarrier.arrive.shared.b64 %rd6, [other];"),
            "shared address 0x408 holds no mbarrier: mbarrier.init must precede its use");
  EXPECT_EQ(problem(1, "mbarrier.inval.shared.b64 [bar];\nmbarrier.inval.shared.b64 [bar];"),
            "shared address 0x400 holds no mbarrier: mbarrier.init must precede its use");
  EXPECT_THAT(violation_of([] {
                std::string kernel = barrier_kernel(2, "mbarrier.arrive.shared.b64 %rd6, [bar];");
                kernel.replace(kernel.find("bar.sync 0;"), 11, "");
                run_lanes(kernel, {.block = {2, 1, 1}});
              }),
              HasSubstr("the use of the mbarrier at shared address 0x400 is not ordered after its "
                        "initialisation by block 0, thread 0"));
}

TEST(MBarrierInstructions, TheObjectMustBeInvalidatedBeforeAnotherUse) {
  EXPECT_THAT(problem(1, "mbarrier.init.shared.b64 [bar], 3;"),
              HasSubstr("shared address 0x400 holds an mbarrier since line 26: mbarrier.inval must "
                        "precede another use of its memory"));
  EXPECT_THAT(problem(1, "st.shared.u32 [%rd5+4], 0;"), HasSubstr("holds an mbarrier since"));
  EXPECT_THAT(violation(64, R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];
    @%p1 mbarrier.inval.shared.b64 [bar];)"),
              HasSubstr("the invalidation of the mbarrier at shared address 0x400 is not ordered "
                        "after its use by block 0, thread 1, line 28"));
}

TEST(MBarrierInstructions, CountsHaveLimits) {
  EXPECT_EQ(problem(1, "mbarrier.init.shared.b64 [other], 0;"),
            "mbarrier at shared address 0x408: the count 0 is not from 1 to 1048575");
  EXPECT_EQ(problem(3, "mbarrier.arrive.shared.b64 %rd6, [bar], 4;"),
            "mbarrier at shared address 0x400: 4 arrivals at a phase that awaits 3 more");
  EXPECT_EQ(problem(1, "mbarrier.arrive.noComplete.shared.b64 %rd6, [bar], 1;"),
            "mbarrier at shared address 0x400: the arrival has .noComplete, but it completes the "
            "phase");
  EXPECT_EQ(problem(1, "mbarrier.expect_tx.shared.b64 [bar], 1048576;"),
            "mbarrier at shared address 0x400: the tx-count becomes 1048576, its magnitude must be "
            "at most 1048575");
}

TEST(MBarrierInstructions, EachPhaseIsAwaitedBeforeTheNextArrival) {
  EXPECT_EQ(
      problem(1,
              "mbarrier.arrive.shared.b64 %rd6, [bar];\n"
              "mbarrier.arrive.shared.b64 %rd7, [bar];"),
      "mbarrier at shared address 0x400: an arrival in phase 1 needs a wait that returned true "
      "for phase 0");
}

TEST(MBarrierInstructions, WaitsNameTheCurrentPhaseOrTheOneBefore) {
  EXPECT_EQ(
      problem(1, R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd6;
    mbarrier.arrive.shared.b64 %rd7, [bar];
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd6;)"),
      "mbarrier at shared address 0x400: the state is of phase 0, but the current phase is 2");
  EXPECT_EQ(problem(1, "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 2;"),
            "mbarrier at shared address 0x400: the parity of a phase is 0 or 1, not 2");
  EXPECT_EQ(problem(2,
                    "mbarrier.arrive.shared.b64 %rd6, [bar];\n"
                    "mbarrier.pending_count.b64 %r3, %rd6;"),
            "the state must be the result of an arrival with .noComplete");
}

TEST(MBarrierInstructions, AnMbarrierIsInSharedMemoryOfTheBlock) {
  EXPECT_THAT(problem(1, "mbarrier.arrive.b64 %rd6, [%rd1];"),
              HasSubstr("is misaligned for 8 bytes"));
  EXPECT_THAT(problem(1, "and.b64 %rd1, %rd1, -16; mbarrier.init.b64 [%rd1], 1;"),
              HasSubstr("bytes"));
  const std::string remote = lane_kernel(R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r2, 0;
    mov.u64 %rd5, bar;
    cvta.shared.u64 %rd6, %rd5;
    mapa.u64 %rd7, %rd6, 1;
    mbarrier.init.b64 [%rd7], 1;)");
  EXPECT_THAT(
      violation_of([&] {
        run_lanes(remote, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}});
      }),
      HasSubstr("the mbarrier is in block 1 of the cluster, the instruction needs one of its "
                "own block"));
}

TEST(MBarrierInstructions, AWaitThatNeverEndsIsADeadlock) {
  const std::string message = violation(64, R"(
    setp.lt.u32 %p4, %r1, 60;
    @%p4 mbarrier.arrive.expect_tx.shared.b64 %rd6, [bar], 4;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;)");
  EXPECT_THAT(message, HasSubstr("deadlock: none of 2 warps can continue"));
  EXPECT_THAT(
      message,
      HasSubstr("kernel kernel, block 0, warp 1 waits for phase 0 of the mbarrier at shared "
                "address 0x400, which lacks 4 of 64 arrivals and 240 bytes, line 31 "
                "(mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;)"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::mbarrier_instructions_test
